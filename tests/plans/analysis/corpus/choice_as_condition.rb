class Search
  def attachments?(options)
    return true if options.titles_only? ? options.attached? : options.all?

    (line = options.line) == :last
  end
end
