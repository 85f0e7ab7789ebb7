class DigestMailer < ApplicationMailer
  def digest(user)
    return if user.unsubscribed?

    subject = user.articles.count > 1 ? "Your articles" : "Your article"
    mail(to: user.email, subject: subject)
  end
end
