class ProductsController < ApplicationController
  def index
    @products = Product.all
    @products = @products.where(category: params[:category]) if params[:category]
    @products = @products.order(:price) if params[:sort] == "price"
    respond_to do |format|
      format.html
      format.json { render json: @products }
    end
  end
end
