class Dashboard
  def home_for(user)
    if user.admin?
      :admin_panel
    elsif user.editor?
      :drafts
    else
      :start
    end
  end
end
