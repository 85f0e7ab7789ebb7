class AccountPolicy
  def update?
    @account_user.administrator?
  end
end
