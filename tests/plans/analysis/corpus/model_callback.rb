class Article < ApplicationRecord
  def set_slug
    self.slug = title.parameterize if slug.blank? && title.present?
  end
end
