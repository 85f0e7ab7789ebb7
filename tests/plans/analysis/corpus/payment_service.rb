class PaymentService
  def process_payment(user, amount)
    if user.authenticated?
      case payment_method
      when :card
        raise CardExpired unless card.valid?

        balance >= amount ? charge(amount) : decline
      when :paypal then PaypalGateway.charge(amount)
      when :bank_transfer then schedule_transfer(amount)
      end
    else
      raise NotAuthenticated
    end
  end
end
