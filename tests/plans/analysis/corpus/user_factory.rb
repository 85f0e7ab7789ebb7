class Badge
  def badge(user)
    user.admin? ? "admin" : "member"
  end
end
