# -*- coding: utf-8 -*-
module Billing
  module Formatting
    module_function

    def euros(cents)
      format("%.2f €", cents / 100.0)
    end

    def percent(value) = "#{value} %"
  end

  module Helpers
    extend self

    def round_up(value) = value.ceil
  end

  module Partly
    def shared; end

    def unshared; end

    module_function :shared
    module_function def both; end
  end

  class Invoice
    extend Forwardable

    def_delegators :@lines, :size, :each
    def_delegator :@lines, :first, :first_line

    if RUBY_VERSION >= "3"
      def modern = true
    else
      def modern
        false
      end
    end

    begin
      def guarded; end
    rescue NameError
      nil
    end

    for word in %w[draft final]
      define_method("#{word}_invoice") {}
    end

    2.times { |at| define_method("page_#{at}") {} }

    define_singleton_method(:blank) { new }

    def gone; end
    undef gone

    def removed; end
    remove_method :removed

    class Line
      class << self
        def parse(text) = new
      end

      def to_s = "line"
    end
  end

  class ::TopLevelInvoice
    def top; end
  end
end

class Billing::Invoice
  def reopened = true
end

class Billing::Invoice::Line
  def reopened_too; end
end

class Billing::CreditNote < Billing::Invoice
  def credit; end
end

Billing::Invoice.class_eval do
  def added_from_outside; end
end

class << Billing::CreditNote
  def issue; end
end

__END__
class AfterTheEnd
  def never; end
end
