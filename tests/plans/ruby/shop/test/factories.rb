FactoryBot.define do
  trait(:tested) { tested { true } }

  factory :legacy do
    trait(:old) { old { true } }
  end
end
