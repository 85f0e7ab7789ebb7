# What factory_bot itself knows after loading the files named: JSON, {"factories": {name => {...}}, "traits": [...]}.
require "json"
require "active_support"
require "active_support/core_ext"
require "factory_bot"

class ApplicationRecord
  def self.enum(*) = nil
  def self.has_many(*) = nil
end

# The classes that the factories build; Product has the enums of its model, as ActiveRecord would tell them.
module Org; class Team; end; end
module Blog; class Post; end; end
%w[User Visitor TeamMember Report Export Legacy].each { |name| Object.const_set(name, Class.new) }
class Product
  ENUMS = { "status" => { "listed" => 0, "sold_out" => 1 }, "kind" => { "book" => "book", "record" => "record" },
            "size" => { "small" => 0, "large" => 1 } }.freeze
  def self.defined_enums = ENUMS
  def self.statuses = ENUMS["status"]
  def self.kinds = ENUMS["kind"]
  def self.sizes = ENUMS["size"]
end

ARGV.each { |file| load File.expand_path(file) }

def traits(factory) = factory.defined_traits.map(&:name).uniq

known = FactoryBot.factories.to_a.uniq
before = known.to_h { |factory| [factory, traits(factory)] }
known.each(&:compile)
factories = known.to_h do |factory|
  details = {
    traits: before[factory],
    all_traits: traits(factory),
    parent: factory.instance_variable_get(:@parent)&.to_s,
    class: factory.build_class.name,
    aliases: factory.names.drop(1),
  }
  [factory.name, details]
end
global = FactoryBot::Internal.traits.map(&:name)
puts JSON.generate({ factories: factories, traits: global })
