# frozen_string_literal: true

class Checkout
  def pay(order, amount)
    return :empty if order.items.empty?

    case order.payment_method
    when :card, :prepaid
      if order.card.expired?
        :expired
      elsif amount > 500
        order.confirmed? ? :paid : :unconfirmed
      else
        :paid
      end
    when :invoice
      order.customer.premium? ? :invoiced : :refused
    else
      :unknown
    end
  end

  def greet(name)
    name.present? ? "Hello #{name}" : "Hello"
  end
end
