class Pages
  def size(count, rows)
    return 0 if count.zero?
    return -1 if count < 0
    return :none if rows.size <= 0

    count > 100 ? :many : :few
  end
end
