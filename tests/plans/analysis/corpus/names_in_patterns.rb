class Shapes
  def area(shape)
    case shape
    in {type: :circle, radius: Integer => r} if r > 0 then r * r
    in {width:, height:} if width > height then width
    in [first, *rest] if rest.any? then first
    in other if other.nil? then 0
    end
  end
end
