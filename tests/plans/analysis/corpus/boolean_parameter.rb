class Export
  def run(rows, compress: false, format: :csv)
    text = format == :csv ? csv(rows) : json(rows)
    compress ? zip(text) : text
  end
end
