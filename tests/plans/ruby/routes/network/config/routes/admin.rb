# frozen_string_literal: true

namespace :admin do
  get '/dashboard', to: 'dashboard#index'

  resources :domain_blocks, only: %i[new create show update] do
    collection { post :batch }
    member { get :revert, to: 'domain_blocks#edit' }
  end
  resources :reports, only: %i[index show] do
    resources :actions, only: [:create], controller: 'reports/actions' do
      collection { post :preview }
    end
    member do
      post :assign_to_self
      post :reopen
    end
  end
  resources :report_notes, only: %i[create destroy]
  resource :change_email, only: %i[show update], controller: 'change_emails'
end
