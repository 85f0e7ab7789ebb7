class Greeting
  def text
    if holiday?
      "Happy holidays"
    elsif hour < 12
      "Good morning"
    else
      "Hello"
    end
  end
end
