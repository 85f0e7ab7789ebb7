class Grades
  def letter(points)
    case points
    when 90..100 then "A"
    when 80..89 then "B"
    when 0..79 then "C"
    else raise ArgumentError
    end
  end
end
