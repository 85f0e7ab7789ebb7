class Coerce
  def coerce(value)
    if value.is_a?(Hash)
      value
    elsif value.is_a?(Array)
      value.to_h
    else
      {}
    end
  end
end
