class PostPolicy
  def update?
    user.admin? || post.author == user
  end
end
