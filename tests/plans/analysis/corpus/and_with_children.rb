class Checkout
  def finish(cart)
    if cart.items.any? && cart.confirmed?
      cart.paid? ? ship(cart) : ask_for_payment(cart)
    else
      :incomplete
    end
  end
end
