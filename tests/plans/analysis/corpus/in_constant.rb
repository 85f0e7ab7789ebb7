class Address < ApplicationRecord
  EUROPE = %w[DE FR IT].freeze

  def taxed?
    country.in?(EUROPE)
  end
end
