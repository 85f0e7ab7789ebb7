class Scanner
  def scan(rows)
    rows.each_with_index do |row, index|
      if row.empty?
        return index
      end

      mark(row) if row.first == "#"
    end
    nil
  end
end
