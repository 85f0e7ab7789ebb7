class Account
  def withdraw(amount)
    raise ArgumentError, "negative" unless amount.positive?
    raise InsufficientFunds if balance < amount

    self.balance -= amount
  end
end
