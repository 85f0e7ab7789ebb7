class Draft < ApplicationRecord
  def publish
    self.published = true
    save ? :published : :failed
  end
end
