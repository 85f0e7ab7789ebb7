# frozen_string_literal: true

ActiveSupport::Inflector.inflections(:en) do |inflect|
  inflect.irregular 'ebi', 'ebisu'
  inflect.uncountable %w[kine]
end
