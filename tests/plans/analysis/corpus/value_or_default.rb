class Person < ApplicationRecord
  def display_name
    nickname || first_name
  end
end
