class Finder
  def call(id)
    if (record = cache.fetch(id))
      record.stale? ? refresh(record) : record
    else
      load(id)
    end
  end
end
