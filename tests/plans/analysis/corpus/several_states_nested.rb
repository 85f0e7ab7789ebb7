class Shipping
  def price(order, weight)
    case order.country
    when :de, :at
      case order.speed
      when :express, :night
        if weight > 20
          order.insured? ? 50 : 40
        else
          30
        end
      when :standard
        5
      end
    when :us
      order.declared? ? 90 : 70
    end
  end
end
