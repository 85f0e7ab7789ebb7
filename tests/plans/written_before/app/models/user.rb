# frozen_string_literal: true

class User < ApplicationRecord
  def full_name
    return [first_name, middle_name, last_name].join(" ") if middle_name.present?

    [first_name, last_name].join(" ")
  end
end
