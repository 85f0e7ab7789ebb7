# frozen_string_literal: true

# Runs a spec with as much of RSpec as its structure needs, and says the groups above each example: a line of JSON each.
require 'json'

STACK = [] # rubocop:disable Style/MutableConstant

module Kernel
  def describe(name, *)
    STACK.push(name.to_s)
    yield
    STACK.pop
  end

  alias context describe

  def it(*)
    puts JSON.generate(STACK)
  end

  def subject(*); end

  def let(*); end
end

module RSpec
  def self.describe(name, &block)
    Kernel.instance_method(:describe).bind_call(self, name, &block)
  end
end

def require(*); end
Object.define_singleton_method(:const_missing) { |name| Object.const_set(name, Module.new) }
Module.define_method(:const_missing) { |name| const_set(name, Module.new) }

ARGV.each { |path| load path }
