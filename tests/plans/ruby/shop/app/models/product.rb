class Product < ApplicationRecord
  KINDS = %w[book record].freeze

  enum status: { listed: 0, sold_out: 1 }, _prefix: true
  enum :kind, KINDS
  enum :size, small: 0, large: 1

  has_many :orders
end
