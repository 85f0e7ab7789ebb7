class Subscription
  def renew
    return :not_eligible unless eligible?

    charge
  end

  private

  def eligible?
    customer.active? && balance >= price
  end

  def charge
    gateway.online? ? pay : enqueue
  end
end
