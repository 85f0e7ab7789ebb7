class RefundService
  def refund(order)
    if order.refunded?
      raise AlreadyRefunded
    end

    if order.shipped?
      raise AlreadyShipped
    end

    if order.total > 100
      ask_manager(order)
    else
      pay_back(order)
    end
  end
end
