FactoryBot.define do
  factory :product do
    trait(:cheap) { price { 1 } }
    traits_for_enum :status
  end

  factory :bundle, parent: :product do
    trait(:gift) { gift { true } }
  end
end
