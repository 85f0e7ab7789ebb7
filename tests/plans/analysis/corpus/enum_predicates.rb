class Invoice < ApplicationRecord
  enum :status, { draft: 0, sent: 1, paid: 2 }, default: :draft

  def reminder
    if paid?
      nil
    elsif sent?
      "Please pay"
    else
      "Not sent yet"
    end
  end
end
