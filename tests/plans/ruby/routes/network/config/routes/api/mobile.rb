# frozen_string_literal: true

namespace :api, format: false do
  namespace :v1 do
    resources :statuses, only: %i[create show update destroy] do
      scope module: :statuses do
        resources :reblogged_by, controller: :reblogged_by_accounts, only: :index
        resource :reblog, only: :create
        post :unreblog, to: 'reblogs#destroy'
        resource :bookmark, only: :create
      end
      member { get :context }
    end
    namespace :timelines do
      resource :home, only: :show, controller: :home
      resources :tag, only: :show
    end
    resources :accounts, only: %i[create show] do
      resources :lists, only: :index, controller: 'accounts/lists'
      member do
        post :follow
        post :unfollow
      end
      collection { get :verify_credentials, to: 'credentials#show' }
    end
    get '/streaming', to: 'streaming#index'
    get '/streaming/(*any)', to: 'streaming#index'
  end
end
