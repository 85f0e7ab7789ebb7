class Quota
  def allow(used)
    if used > limit
      :over
    elsif used == limit
      :last
    else
      :fine
    end
  end
end
