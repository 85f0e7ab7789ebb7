class ImportService
  def call(rows)
    errors = []
    rows.each { |row| errors << row unless row.valid? }
    return errors if errors.any?

    save(rows)
  end
end
