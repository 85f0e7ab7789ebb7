class ReportRange
  def call(from, to = nil)
    to ? from..to : from..
  end
end
