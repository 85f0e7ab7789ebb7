class Checkout
  def pay(order)
    case order.payment_method
    when :card, :prepaid
      order.card_valid? ? :paid : :refused
    when :invoice
      :invoiced
    end
  end
end
