module Api
  class UsersController < ApplicationController
    def update
      head :forbidden and return unless current_user.admin?

      if params[:email].present?
        user.update(email: params[:email]) ? head(:ok) : head(:unprocessable_entity)
      end
    end
  end
end
