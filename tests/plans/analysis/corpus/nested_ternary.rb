class Sign
  def sign(number)
    number > 0 ? 1 : (number < 0 ? -1 : 0)
  end
end
