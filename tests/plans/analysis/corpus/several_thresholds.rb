class Tiers
  def rate(total)
    return 0.15 if total >= 1_000
    return 0.10 if total >= 500
    return 0.05 if total > 100

    0
  end
end
