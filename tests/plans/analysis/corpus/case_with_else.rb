class Router
  def route(kind)
    case kind
    when "order" then OrderHandler
    when "refund", "return" then RefundHandler
    else raise UnknownKind, kind
    end
  end
end
