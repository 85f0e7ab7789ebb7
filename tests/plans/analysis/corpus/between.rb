class Window
  def open?(hour)
    hour.between?(9, 17)
  end
end
