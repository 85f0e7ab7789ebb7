class Access
  def allow?(user)
    return false unless user&.active?

    user.age >= 18
  end
end
