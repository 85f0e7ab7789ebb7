class Lock
  def open(key)
    unless key.fits? && !jammed?
      raise Stuck
    end

    turn
  end
end
