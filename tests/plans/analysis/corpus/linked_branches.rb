class Mailer
  def send_to(person)
    unless person.subscribed?
      error = "not subscribed"
    end
    address = person.email
    if error
      log(error)
    elsif person.email.present?
      deliver(address) if address
    end
  end
end
