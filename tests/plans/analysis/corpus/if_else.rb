class Door
  def knock
    if locked?
      :rattle
    else
      :open
    end
  end
end
