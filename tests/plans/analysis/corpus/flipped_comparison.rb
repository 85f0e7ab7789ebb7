class Oven
  def hot?
    return true if 200 <= temperature

    false
  end
end
