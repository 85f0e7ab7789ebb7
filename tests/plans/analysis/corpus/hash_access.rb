class Filter
  def apply(params)
    if params[:sort] == "price"
      by_price
    elsif params[:sort] == "name"
      by_name
    else
      unsorted
    end
  end
end
