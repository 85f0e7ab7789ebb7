class Factory
  class << self
    def build(kind)
      kind == :fast ? Fast.new : Slow.new
    end
  end
end
