class Visitor < ApplicationRecord
  def ticket
    if age < 18
      :child
    elsif age < 65
      :full
    else
      :reduced
    end
  end
end
