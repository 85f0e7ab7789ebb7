class Mailing
  def deliver(recipients)
    return :nobody if recipients.nil? || recipients.empty?

    send_to(recipients)
  end
end
