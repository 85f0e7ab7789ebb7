class ShippingCost
  def cost(weight, country:, express: false, insured: nil)
    base = case country
           when "DE", "AT" then 5
           when *EU then 9
           else 20
           end
    base *= 2 if express
    base += insured if insured && insured > 0
    return 0 if weight <= 0

    weight > 30 ? base * 3 : base
  end
end
