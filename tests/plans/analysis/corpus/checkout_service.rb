module Orders
  class CheckoutService < ApplicationService
    def call
      return failure(:empty_cart) if @cart.items.empty?

      if (coupon = Coupon.find_by(code: @code))
        if coupon.expired?
          return failure(:coupon_expired)
        elsif coupon.minimum && @cart.total < coupon.minimum
          return failure(:total_too_small)
        end
      end

      unless @order.save
        raise ActiveRecord::Rollback
      end

      OrderMailer.confirmation(@order).deliver_later if @order.customer&.email.present?
      @order
    end
  end
end
