class Profile < ApplicationRecord
  def headline
    return "Unknown" if title.blank?

    title.present? && verified? ? "#{title} *" : title
  end
end
