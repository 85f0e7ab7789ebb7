class Quote
  def price(user)
    reduced = user.student? || user.age < 18
    reduced ? 5 : 10
  end
end
