class Box
  def size = width > 10 ? :large : :small
end
