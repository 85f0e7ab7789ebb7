class Team
  def ready?
    if members.all? { |member| member.present? && member.trained? }
      true
    else
      false
    end
  end
end
