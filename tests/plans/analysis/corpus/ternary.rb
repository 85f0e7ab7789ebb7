module Label
  def label(item)
    item.available? ? "In stock" : "Sold out"
  end
end
