# frozen_string_literal: true

# class Phantom; def in_a_comment; end; end
class Order < ApplicationRecord
  STATUSES = %i[draft paid shipped].freeze
  LIMITS = { small: 10, large: 100 }.freeze

  include Archivable

  attr_accessor :note, :discount
  attr_reader "token"
  attr_writer :secret

  delegate :name, :email, to: :customer, prefix: true, allow_nil: true
  delegate :rate, to: :shop, prefix: :vat
  delegate :size, :empty?, to: :items

  class_attribute :currency
  mattr_accessor :numbering

  scope :recent, -> { where(recent: true) }

  STATUSES.each do |status|
    define_method("#{status}?") { self.status == status }
    define_method(:"mark_#{status}!") do
      self.status = status
    end
  end

  LIMITS.each_pair { |word, limit| define_method("#{word}_order?") { total < limit } }

  %w[net gross].each_with_index do |kind, at|
    define_method("#{kind}_total_#{at}") { at }
  end

  class << self
    attr_accessor :registry

    def build(attributes = {}) = new(**attributes)

    def [](id)
      find(id)
    end

    alias_method :make, :build

    private

    def reset_registry
      self.registry = nil
    end
  end

  def self.find_by_token(token)
    where(token: token)
  end

  def Order.count_all = 42

  def total
    text = <<~RUBY
      def in_a_heredoc; end
    RUBY
    "def in_a_string; end" if text
  end

  def total=(value)
    @total = value
  end

  def [](key) = key
  def []=(key, value); end
  def +(other) = other
  def -@ = self
  def !; end
  def <=>(other) = 0
  def ==(other) = other.is_a?(Order)
  def =~(other) = nil
  def call(...) = total(...)

  alias sum total
  alias :amount :total
  alias_method :price, :total

  def grüße? = true

  protected

  def guarded; end

  private def hidden; end

  private

  def concealed(a, *c, b: 1, **d, &e)
    inner = lambda do
      a
    end
    inner.call
  end

  attr_reader :cache

  private_class_method def self.unlisted
    nil
  end

  Line = Struct.new(:sku, :quantity, keyword_init: true) do
    def cost
      quantity * 2
    end

    def self.blank = new
  end

  class Total < Struct.new(:net, :gross)
    def tax = gross - net
  end

  class Error < StandardError; end

  Missing = Class.new(Error) do
    def message = "missing"
  end
end
