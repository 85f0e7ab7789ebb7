class Sum
  def total
    items.sum(&:price)
  end
end
