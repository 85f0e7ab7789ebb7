class Token
  def kind(value)
    case value
    in Integer | Float then :number
    in String then :text
    end
  end
end
