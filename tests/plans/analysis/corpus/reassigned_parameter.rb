class PageService
  def call(page, draft)
    page = nil if draft.hidden?
    return :none unless page

    render(page)
  end
end
