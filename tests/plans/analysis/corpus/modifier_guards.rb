class ImportService
  def call(file)
    return :no_file if file.nil?
    return :too_big if file.size > 10_000

    store(file)
  end
end
