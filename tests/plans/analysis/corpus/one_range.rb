class Discount
  def applies?(quantity)
    if quantity >= 10 && quantity < 100
      true
    else
      false
    end
  end
end
