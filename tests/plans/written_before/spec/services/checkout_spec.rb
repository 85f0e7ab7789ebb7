# frozen_string_literal: true

require_relative '../../app/services/checkout'

RSpec.describe Checkout do
  describe '#pay' do
    subject(:result) { instance.pay(order, amount) }

    let(:instance) { described_class.new }
    let(:order) { nil } # {ARGUMENT} what is handed over as order
    let(:amount) { nil } # {ARGUMENT} what is handed over as amount
    # {COMMON_SETUP} what all examples need

    context 'when order items are present', plan: 'order_items_present:present' do
      # {SETUP_CODE} order_items_present: present, by argument order.items

      context 'and order payment method is card', plan: 'order_payment_method:card' do
        # {SETUP_CODE} order_payment_method: card, by argument order.payment_method

        context 'with expired order card', plan: 'order_card_expired:expired' do
          # {SETUP_CODE} order_card_expired: expired, by argument order.card.expired?

          it 'behaves as expected' do
            # {EXPECTATION} say what happens, here and in the name of the example
            skip 'no expectation yet'
          end
        end

        context 'but order card is not expired', plan: 'order_card_expired:not_expired' do
          # {SETUP_CODE} order_card_expired: not_expired, by argument order.card.expired?

          context 'and amount is above 500', plan: 'amount:above_500' do
            # {SETUP_CODE} amount: above_500, by argument amount, > 500

            context 'with confirmed order', plan: 'order_confirmed:confirmed' do
              # {SETUP_CODE} order_confirmed: confirmed, by argument order.confirmed?

              it 'behaves as expected' do
                # {EXPECTATION} say what happens, here and in the name of the example
                skip 'no expectation yet'
              end
            end

            context 'but order is not confirmed', plan: 'order_confirmed:not_confirmed' do
              # {SETUP_CODE} order_confirmed: not_confirmed, by argument order.confirmed?

              it 'behaves as expected' do
                # {EXPECTATION} say what happens, here and in the name of the example
                skip 'no expectation yet'
              end
            end
          end

          context 'but amount is up to 500', plan: 'amount:up_to_500' do
            # {SETUP_CODE} amount: up_to_500, by argument amount, <= 500

            it 'behaves as expected' do
              # {EXPECTATION} say what happens, here and in the name of the example
              skip 'no expectation yet'
            end
          end
        end
      end

      context 'and order payment method is prepaid', plan: 'order_payment_method:prepaid' do
        # {SETUP_CODE} order_payment_method: prepaid, by argument order.payment_method

        context 'with expired order card', plan: 'order_card_expired:expired' do
          # {SETUP_CODE} order_card_expired: expired, by argument order.card.expired?

          it 'behaves as expected' do
            # {EXPECTATION} say what happens, here and in the name of the example
            skip 'no expectation yet'
          end
        end

        context 'but order card is not expired', plan: 'order_card_expired:not_expired' do
          # {SETUP_CODE} order_card_expired: not_expired, by argument order.card.expired?

          context 'and amount is above 500', plan: 'amount:above_500' do
            # {SETUP_CODE} amount: above_500, by argument amount, > 500

            context 'with confirmed order', plan: 'order_confirmed:confirmed' do
              # {SETUP_CODE} order_confirmed: confirmed, by argument order.confirmed?

              it 'behaves as expected' do
                # {EXPECTATION} say what happens, here and in the name of the example
                skip 'no expectation yet'
              end
            end

            context 'but order is not confirmed', plan: 'order_confirmed:not_confirmed' do
              # {SETUP_CODE} order_confirmed: not_confirmed, by argument order.confirmed?

              it 'behaves as expected' do
                # {EXPECTATION} say what happens, here and in the name of the example
                skip 'no expectation yet'
              end
            end
          end

          context 'but amount is up to 500', plan: 'amount:up_to_500' do
            # {SETUP_CODE} amount: up_to_500, by argument amount, <= 500

            it 'behaves as expected' do
              # {EXPECTATION} say what happens, here and in the name of the example
              skip 'no expectation yet'
            end
          end
        end
      end

      context 'and order payment method is invoice', plan: 'order_payment_method:invoice' do
        # {SETUP_CODE} order_payment_method: invoice, by argument order.payment_method

        context 'with premium order customer', plan: 'order_customer_premium:premium' do
          # {SETUP_CODE} order_customer_premium: premium, by argument order.customer.premium?

          it 'behaves as expected' do
            # {EXPECTATION} say what happens, here and in the name of the example
            skip 'no expectation yet'
          end
        end

        context 'but order customer is not premium', plan: 'order_customer_premium:not_premium' do
          # {SETUP_CODE} order_customer_premium: not_premium, by argument order.customer.premium?

          it 'behaves as expected' do
            # {EXPECTATION} say what happens, here and in the name of the example
            skip 'no expectation yet'
          end
        end
      end

      context 'and order payment method is something else', plan: 'order_payment_method:other' do
        # {SETUP_CODE} order_payment_method: other, by argument order.payment_method

        it 'behaves as expected' do
          # {EXPECTATION} say what happens, here and in the name of the example
          skip 'no expectation yet'
        end
      end
    end

    context 'when order items are empty', plan: 'order_items_present:empty' do
      # {SETUP_CODE} order_items_present: empty, by argument order.items

      it 'behaves as expected' do
        # {EXPECTATION} say what happens, here and in the name of the example
        skip 'no expectation yet'
      end
    end
  end
end
