class FolderPolicy
  def share(user)
    return :denied unless user.can?(:share, folder)

    folder.shared_with?(user) ? :already : :shared
  end
end
