class Shipping
  def price(zone)
    if zone == :domestic
      5
    elsif zone == :europe
      12
    else
      30
    end
  end
end
