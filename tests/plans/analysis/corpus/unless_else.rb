class Door
  def greet
    unless guest.known?
      "Who is there?"
    else
      "Welcome back"
    end
  end
end
