class Loan
  def grant
    return :denied unless creditworthy?

    :granted
  end

  private

  def creditworthy?
    return false if customer.banned?
    return true if customer.vip?

    income >= rate * 3
  end
end
