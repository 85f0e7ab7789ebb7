class Ticket < ApplicationRecord
  enum status: { open: 0, closed: 1, archived: 2 }, _prefix: true

  def close
    return if status_closed?

    update!(status: :closed)
  end
end
