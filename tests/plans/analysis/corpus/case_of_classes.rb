class Dump
  def dump(value)
    case value
    when String then value
    when Array, Hash then value.to_json
    when nil then ""
    else value.inspect
    end
  end
end
