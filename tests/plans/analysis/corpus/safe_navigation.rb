class Greeter
  def name(user)
    user&.profile&.nickname || "guest"
  end
end
