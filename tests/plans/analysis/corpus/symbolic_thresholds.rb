class Limits
  def level(load)
    if load >= critical
      :alarm
    elsif load >= warning
      :warn
    else
      :ok
    end
  end
end
