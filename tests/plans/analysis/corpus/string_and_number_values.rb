class Http
  def retry?(status)
    case status
    when 429, 503 then true
    when 400 then false
    else status.to_s.start_with?("5")
    end
  end
end
