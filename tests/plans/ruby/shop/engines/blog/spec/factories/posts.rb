::FactoryBot.define do
  factory Blog::Post do
    trait :published do
      published { true }
    end
  end
end
