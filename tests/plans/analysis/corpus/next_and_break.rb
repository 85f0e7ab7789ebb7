class SyncJob < ApplicationJob
  def perform(records)
    records.each do |record|
      next if record.synced?
      break if quota.zero?

      if record.deleted?
        remove(record)
      else
        push(record)
      end
    end
  end
end
