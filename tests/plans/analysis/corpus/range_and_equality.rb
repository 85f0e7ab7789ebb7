class Elevator
  def direction(floor)
    return :lobby if floor == 0

    floor > 0 ? :up : :down
  end
end
