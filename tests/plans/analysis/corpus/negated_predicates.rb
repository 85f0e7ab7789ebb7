class Audit
  def check(record)
    return :broken if record.invalid?
    return :old if !record.current?

    record.not_archived? ? :fine : :archived
  end
end
