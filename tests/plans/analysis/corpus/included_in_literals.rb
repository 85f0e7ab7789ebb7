class Upload
  def accept(extension)
    if %w[jpg png].include?(extension)
      store
    else
      reject
    end
  end
end
