class Setter
  def initialize(opts, store)
    @at = opts.delete(:wait_until) || opts.delete(:wait)
    raise NotStored unless store.delete
  end
end
