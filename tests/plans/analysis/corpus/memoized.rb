class Rates
  def table
    @table ||= load_table
  end
end
