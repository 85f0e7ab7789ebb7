class Comment < ApplicationRecord
  def approve
    notify_author unless author.muted?
    touch(:approved_at)
  end
end
