# frozen_string_literal: true

# Prints the routes of a file as Rails draws them: controller#action, verb, and the path as code.
require 'logger'
require 'action_controller/railtie'

class Shop < Rails::Application
  config.eager_load = false
  config.secret_key_base = 'only for tests'
  config.logger = Logger.new(IO::NULL)
end

# What the gem devise adds.
module Authentication
  def authenticate(*)
    yield
  end
end
ActionDispatch::Routing::Mapper.include(Authentication)
load ARGV.fetch(0)

drawn = Rails.application.routes.routes
seen = {}
drawn.each do |route|
  target = "#{route.defaults[:controller]}##{route.defaults[:action]}"
  next if route.defaults[:controller].nil? || route.verb == 'PUT' || seen[target]

  seen[target] = true
  path = route.path.spec.to_s.delete_suffix('(.:format)')
  parts = route.required_parts
  name = route.name || drawn.find { |other| other.name && other.path.spec.to_s == route.path.spec.to_s }&.name
  code = name ? "#{name}_path" : path
  code += "(#{parts.join(', ')})" if name && parts.any?
  puts [target, route.verb.downcase, code].join(' ')
end
