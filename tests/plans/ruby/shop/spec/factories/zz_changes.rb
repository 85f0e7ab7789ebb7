FactoryBot.modify do
  factory :user do
    trait :changed do
      name { "changed" }
    end
  end
  factory :crew do
    trait(:renamed) { name { "B" } }
  end
end
