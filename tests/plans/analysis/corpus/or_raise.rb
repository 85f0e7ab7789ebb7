class Lookup
  def call(key)
    value = cache[key]
    value or raise KeyError, key
    value.frozen? ? value : value.dup
  end
end
