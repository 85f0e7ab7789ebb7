class Cart < ApplicationRecord
  MAX_ITEMS = 20

  def full?
    items.count >= MAX_ITEMS
  end
end
