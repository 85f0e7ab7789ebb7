class Notifier
  def notify(user)
    if user.email?
      user.subscribed? ? mail(user) : nil
    else
      user.subscribed? ? text(user) : nil
    end
  end
end
