class Search
  def first_match(lines)
    lines.each do |line|
      return line if line.include?("needle")
    end
    nil
  end
end
