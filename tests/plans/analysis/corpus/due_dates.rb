class Dunning
  def state(invoice)
    if invoice.due_on < Date.today && !invoice.paid?
      :overdue
    elsif invoice.due_on == Date.today
      :today
    else
      :fine
    end
  end
end
