class Shipper
  def ship(order)
    return unless order.paid?

    order.express? ? courier(order) : post(order)
  end
end
