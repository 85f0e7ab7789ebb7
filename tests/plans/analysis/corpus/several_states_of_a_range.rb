class Fare
  def for(age, member)
    if age < 6
      0
    elsif age < 18 || age >= 65
      member.active? ? 5 : 10
    else
      20
    end
  end
end
