FactoryBot.define do
  factory :user do
    trait(:admin) { role { "admin" } }
  end
end
