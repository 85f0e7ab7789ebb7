class AccountPolicy
  def destroy? = owner? && super_user?

  def show? = visible?

  private

  def visible?
    @account.users.include?(@user)
  end
end
