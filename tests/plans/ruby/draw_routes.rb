# frozen_string_literal: true

# Prints the routes of projects as Rails draws them, a line of JSON for each project: a list of routes in their order, each
# with its controller and action, its verb, and the path as code. What does not load has an error instead.
require 'json'
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

  def devise_scope(*)
    yield
  end
end
ActionDispatch::Routing::Mapper.include(Authentication)

def code_of(route, drawn)
  path = route.path.spec.to_s.delete_suffix('(.:format)')
  same = ->(other) { other.name && other.path.spec.to_s.delete_suffix('(.:format)') == path }
  name = route.name || drawn.find(&same)&.name
  parts = route.required_parts
  return parts.any? ? "#{name}_path(#{parts.join(', ')})" : "#{name}_path" if name

  nil while path.gsub!(/\([^()]*\)/, '')
  path.empty? ? '/' : path
end

def drawn_routes(routes)
  kept = routes.reject { |route| route.defaults[:controller].nil? || route.verb == 'PUT' && route.defaults[:action] == 'update' }
  kept.map do |route|
    target = "#{route.defaults[:controller]}##{route.defaults[:action]}"
    [target, route.verb.downcase.split('|').first || 'get', code_of(route, routes)]
  end
end

ARGV.each do |root|
  ActiveSupport::Inflector.inflections.clear
  load ActiveSupport::Inflector.instance_method(:inflections).source_location[0].sub('inflector/inflections.rb', 'inflections.rb')
  inflections = File.join(root, 'config/initializers/inflections.rb')
  load inflections if File.exist?(inflections)
  routes = Rails.application.routes
  routes.clear!
  routes.draw_paths.replace([File.join(root, 'config/routes')])
  begin
    load File.join(root, 'config/routes.rb')
    puts JSON.generate(drawn_routes(routes.routes.to_a))
  rescue ArgumentError, NoMethodError => e
    puts JSON.generate(error: e.message)
  end
end
