module Archivable
  extend ActiveSupport::Concern

  included do
    attr_accessor :archived_at
  end

  class_methods do
    def archived
      where(archived: true)
    end

    def archive_all = archived.each(&:archive)
  end

  def archive
    self.archived_at = Time.now
  end

  module ClassMethods
    def unarchived = []
  end
end
