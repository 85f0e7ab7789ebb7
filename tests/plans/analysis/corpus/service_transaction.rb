class Transfer
  def call(from, to, amount)
    return failure(:same_account) if from == to

    Account.transaction do
      from.lock!
      if from.balance < amount
        raise ActiveRecord::Rollback
      end

      from.withdraw(amount)
      to.closed? ? raise(ClosedAccount) : to.deposit(amount)
    end
  end
end
