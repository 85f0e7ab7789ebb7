# frozen_string_literal: true

# factory :in_a_comment do; end
FactoryBot.define do
  sequence(:email) { |n| "user#{n}@example.com" }

  trait :archived do
    archived_at { 1.day.ago }
  end

  factory :user, aliases: %i[author owner] do
    email
    name { "factory :in_a_string do" }

    transient do
      posts_count { 3 }
    end

    trait :blocked do
      blocked { true }
    end

    trait(:verified) { verified_at { Time.now } }
    trait "with phone" do
      phone { "1" }
    end

    %w[de fr].each do |language|
      trait :"speaks_#{language}" do
        language { language }
      end
    end

    after(:create) do |user, evaluator|
      evaluator.posts_count.times { user.save }
    end

    factory :admin, traits: [:verified] do
      role { "admin" }
      trait :super do
        level { 9 }
      end

      factory :root_admin do
        trait(:sudo) { sudo { true } }
      end
    end

    factory :guest, class: "Visitor"
  end
end

FactoryBot.define do
  factory "team", class: Org::Team, aliases: ["crew"] do
    name { "A" }
    traits_for_enum :state, %w[open closed]
  end

  factory :member, parent: :user, :class => :team_member do
    traits_for_enum(:rank, captain: 1, player: 2)
  end
end
