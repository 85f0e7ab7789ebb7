class Options
  def level
    return :silent if ENV["QUIET"]

    config[:verbose] ? :verbose : :normal
  end
end
