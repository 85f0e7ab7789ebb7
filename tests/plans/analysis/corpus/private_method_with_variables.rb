class Setter
  def schedule(interval)
    at(interval)
  end

  private

  def at(value)
    now = clock.now
    time = value < 1_000 ? now + value : value
    time > now && queue ? push(time) : push(now)
  end
end
