class Config
  def args_valid?
    return true if args.is_a?(String)

    if args.is_a?(Array)
      args.each { |one| return false unless one.is_a?(String) }
    end
  end
end
