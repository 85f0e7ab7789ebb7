class Batch
  def run
    begin
      load
    rescue LoadError
      return :failed
    else
      verbose? ? report : nil
    ensure
      cleanup if dirty?
    end
    :done
  end
end
