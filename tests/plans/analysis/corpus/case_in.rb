class Webhook
  def handle(event)
    case event
    in { type: "paid", amount: Integer => amount } if amount > 1000
      notify_sales(amount)
    in { type: "paid" }
      confirm
    in []
      nil
    else
      log(event)
    end
  end
end
