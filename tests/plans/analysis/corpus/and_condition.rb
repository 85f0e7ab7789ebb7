class Coupon < ApplicationRecord
  def usable?
    active? && !expired?
  end
end
