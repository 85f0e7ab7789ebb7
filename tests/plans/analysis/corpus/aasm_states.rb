class Order < ApplicationRecord
  include AASM

  aasm column: :state do
    state :pending, initial: true
    state :paid, :shipped
    state :delivered

    event :pay do
      transitions from: :pending, to: :paid
    end
  end

  def next_step
    case state
    when "pending" then :pay
    when "paid" then :ship
    when "shipped" then :deliver
    else :done
    end
  end
end
