class Session < ApplicationRecord
  def self.sweep(limit = nil)
    scope = expired
    scope = scope.limit(limit) if limit
    scope.delete_all
  end
end
