# frozen_string_literal: true

# The smallest Rails application that runs specs: real Active Record, Active Job, Action Mailer and Action Controller.
require 'logger'
require 'active_record/railtie'
require 'action_controller/railtie'
require 'action_mailer/railtie'
require 'active_job/railtie'

ENV['RAILS_ENV'] = 'test'

class Shop < Rails::Application
  config.root = File.expand_path('..', __dir__)
  config.eager_load = false
  config.secret_key_base = 'only for tests'
  config.logger = Logger.new(IO::NULL)
  config.active_job.queue_adapter = :test
  config.action_mailer.delivery_method = :test
  config.hosts.clear
end

Shop.initialize!

ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define do
  create_table(:customers) { |t| t.string :name, :label; t.boolean :active, default: true }
  create_table(:posts) { |t| t.string :tag }
end

require 'rspec/rails'
require 'factory_bot'
FactoryBot.definition_file_paths = [File.expand_path('factories', __dir__)]
FactoryBot.find_definitions
RSpec.configure { |config| config.include FactoryBot::Syntax::Methods }
