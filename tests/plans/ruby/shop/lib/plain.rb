#!/usr/bin/env ruby
module Étagère
  class Plain
    class Éclair
      def self.croquer(morceaux) = morceaux
      def fondre; end
    end

    def each
      return enum_for(:each) unless block_given?

      @items.each { |item| yield item }
    end

    def to_proc = method(:call).to_proc

    def initialize(items = [], *rest, key: nil, **options, &block)
      @items = items
      super()
    end

    def name = @name; def name=(name); @name = name; end

    def case_in(value)
      case value
      in { name: String => name, age: 18.. => age } if name then [name, age]
      in [Integer, *] | nil then value
      else nil
      end
    end

    def `(command)
      command
    end

    def if; end
    def class_name; end
    def self.for(x); end
  end
end
