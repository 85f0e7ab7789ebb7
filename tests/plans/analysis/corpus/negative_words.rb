class Renderer
  def place(layout, text)
    warn(layout) if invalid_layout?(layout)
    return if layout.signature_missing?

    text[0..0] == "<" ? layout.render(text) : text
    text << $1 if text[1..2] == "--"
  end
end
