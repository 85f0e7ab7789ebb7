class DiscountCalculator
  def calculate(customer_type)
    case customer_type
    when "regular" then 0
    when "premium" then 10
    when "vip" then 20
    end
  end
end
