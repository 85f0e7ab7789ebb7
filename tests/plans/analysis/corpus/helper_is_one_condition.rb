class Upload
  def call(file)
    check_size!(file)
    return :skipped if known?(file)

    store(prepared(file))
  end

  private

  def check_size!(file)
    raise TooLarge if file.size > limit
  end

  def known?(file)
    digests.include?(file.digest) || file.name.blank?
  end

  def prepared(file)
    file.image? ? resize(file) : file
  end
end
