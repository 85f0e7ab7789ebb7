class Member < ApplicationRecord
  def allowed?
    !(age < 18)
  end
end
