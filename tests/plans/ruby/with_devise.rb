# frozen_string_literal: true

# Loads devise before the routes of a project are drawn, with the models and the settings of that project.
require 'logger'
require 'rails'
require 'action_controller/railtie'
require 'active_record'
require 'devise'
require 'devise/orm/active_record'

ApplicationRecord = Class.new(ActiveRecord::Base) { self.abstract_class = true }
Devise.secret_key = 'only for tests'
Devise.warden_config = Warden::Config.new
Dir[File.join(ARGV.fetch(0), 'config/initializers/devise.rb')].each { |file| load file }
Dir[File.join(ARGV.fetch(0), 'app/models/**/*.rb')].each { |file| load file }
