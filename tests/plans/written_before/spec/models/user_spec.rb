# frozen_string_literal: true

require_relative '../../app/models/user'

RSpec.describe User, type: :model do
  describe '#full_name' do
    subject(:result) { instance.full_name }

    let(:instance) { FactoryBot.build_stubbed(:user) }
    # {COMMON_SETUP} what all examples need

    context 'when middle name is absent', plan: 'middle_name_present:absent' do
      # {SETUP_CODE} middle_name_present: absent, by attribute User middle_name

      it 'behaves as expected' do
        # {EXPECTATION} say what happens, here and in the name of the example
        skip 'no expectation yet'
      end
    end

    context 'when middle name is present', plan: 'middle_name_present:present' do
      # {SETUP_CODE} middle_name_present: present, by attribute User middle_name

      it 'behaves as expected' do
        # {EXPECTATION} say what happens, here and in the name of the example
        skip 'no expectation yet'
      end
    end
  end
end
