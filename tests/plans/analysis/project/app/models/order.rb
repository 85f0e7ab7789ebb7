class Order < ApplicationRecord
  enum :status, %i[pending paid cancelled]
end
