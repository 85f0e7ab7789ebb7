# What Ruby itself knows after loading the files named: a line of JSON for each, {class => [[method, type], ...]}.
# Stands in for the part of Rails that the files use.
require "json"
require "forwardable"
require "active_support"
require "active_support/core_ext"

class ApplicationRecord
  def self.scope(name, body) = define_singleton_method(name, body)
end

MADE_BY_STRUCT = %i[new [] members keyword_init? inspect].freeze

def classes
  ObjectSpace.each_object(Module).select { |found| found.name && !found.singleton_class? }
end

def own_methods(found)
  found.instance_methods(false) + found.private_instance_methods(false)
end

def methods_of(found)
  instance = own_methods(found)
  instance += found.superclass.instance_methods(false) if found.is_a?(Class) && !found.superclass&.name
  singleton = own_methods(found.singleton_class)
  singleton -= MADE_BY_STRUCT if found.is_a?(Class) && found < Struct
  singleton += own_methods(found) if found.instance_of?(Module) && found.singleton_class.include?(found) # extend self
  singleton += own_methods(found::ClassMethods) if found.const_defined?(:ClassMethods, false)
  instance.map { |name| [name, "instance"] } + singleton.map { |name| [name, "class"] }
end

ARGV.each do |file|
  before = classes
  load File.expand_path(file)
  puts JSON.generate((classes - before).to_h { |found| [found.name, methods_of(found)] })
end
