class NoteMailer
  def body(note)
    text = <<~TEXT
      #{note.urgent? ? "Now" : "Soon"}
    TEXT
    text.length > 100
  end
end
