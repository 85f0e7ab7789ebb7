class AccountPolicy
  def join?
    return true if record.public?

    !user.banned?
  end
end
