class Signup
  def call(form)
    return :rejected if form.spam? || form.email.blank?

    if form.newsletter?
      subscribe(form)
    end
    :created
  end
end
