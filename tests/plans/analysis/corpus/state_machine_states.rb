class Parcel < ApplicationRecord
  state_machine :status, initial: :packed do
    event :send_off do
      transition packed: :sent
    end
    event :arrive do
      transition sent: :arrived
    end
  end

  def track
    arrived? ? "It is there" : "On its way"
  end
end
