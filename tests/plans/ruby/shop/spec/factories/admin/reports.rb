REPORTS = [:daily, :weekly].freeze

FactoryBot.define {
  factory(:report) {
    title { <<~TEXT }
      factory :in_a_heredoc do
      end
    TEXT

    trait(:long) { pages { 100 } }
  }

  REPORTS.each { |name|
    factory(:"#{name}_report", parent: :report) {
      trait(:"late_#{name}") { late { true } }
    }
  }

  [[:csv, "text/csv"], [:pdf, "application/pdf"]].each do |format, type|
    factory "#{format}_export", class: "Export" do
      content_type { type }
      if RUBY_VERSION >= "2"
        trait :zipped do
          zipped { true }
        end
      end
    end
  end
}
