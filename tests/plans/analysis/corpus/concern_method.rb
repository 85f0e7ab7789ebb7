module Sluggable
  extend ActiveSupport::Concern

  def slug_source
    respond_to?(:title) ? title : name
  end
end
