class Gateway
  def charge(amount)
    client.charge(amount)
  rescue Stripe::CardError => e
    decline(e)
  rescue Timeout::Error, Errno::ECONNRESET
    raise GatewayDown
  end
end
