class Calendar
  def weekend?(day)
    if day == :saturday || day == :sunday
      true
    else
      false
    end
  end
end
