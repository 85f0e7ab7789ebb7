class CartTotal
  def total(customer)
    sum = items.sum
    sum *= 0.9 if customer.premium?
    sum += 5 unless customer.premium?
    sum
  end
end
