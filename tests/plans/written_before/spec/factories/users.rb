# frozen_string_literal: true

FactoryBot.define do
  factory :user do
    trait :with_middle_name do
      middle_name { "Maria" }
    end
  end
end
