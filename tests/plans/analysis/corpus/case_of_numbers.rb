class Basket
  def size(items)
    case items
    when 0 then :none
    when 1 then :one
    when 2..9 then :few
    else :many
    end
  end
end
