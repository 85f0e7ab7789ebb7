class Stock
  def state(count)
    if count.zero?
      :sold_out
    elsif count < 5
      :few
    else
      :many
    end
  end
end
