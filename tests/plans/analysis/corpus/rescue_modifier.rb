class Number
  def parse(text)
    Integer(text) rescue 0
  end
end
