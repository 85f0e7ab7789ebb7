class WelcomeJob < ApplicationJob
  def perform(user_id)
    user = User.find_by(id: user_id)
    return if user.nil?
    return if user.welcomed_at?

    WelcomeMailer.hello(user).deliver_now
  end
end
