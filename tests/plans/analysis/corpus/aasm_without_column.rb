class Deal < ApplicationRecord
  aasm do
    state :open, initial: true
    state :won, :lost
  end

  def label
    case aasm_state
    when "won" then "+"
    when "lost" then "-"
    else "?"
    end
  end
end
