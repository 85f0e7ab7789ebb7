class Report
  def build
    header
    body
  end

  private

  def header
    title.present? ? title : "Untitled"
  end

  def body
    deeper
  end

  def deeper
    nothing? ? 1 : 2
  end
end
