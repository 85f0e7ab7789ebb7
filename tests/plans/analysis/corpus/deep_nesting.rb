class Wizard
  def step
    if a?
      if b?
        if c?
          d? ? 1 : 2
        end
      end
    end
  end
end
