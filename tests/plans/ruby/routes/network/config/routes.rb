# frozen_string_literal: true

# A social network: routes in several files, words of its own.
Rails.application.routes.draw do
  root 'home#index'

  get '.well-known/host-meta', to: 'well_known/host_meta#show', as: :host_meta, defaults: { format: 'xml' }
  get '.well-known/webfinger', to: 'well_known/webfinger#show', as: :webfinger
  get 'intent', to: 'intents#show'

  scope path: 'users', as: 'user_account' do
    resources :followers, only: [:index], controller: :follower_accounts
  end

  resources :accounts, path: 'users', only: [:show], param: :username do
    resources :statuses, only: [:show] do
      member do
        get :activity
        get :embed
      end
      resources :replies, only: [:index], module: :statuses
    end
    resource :outbox, only: [:show], module: :activitypub
    resources :collections, only: [:show], module: :activitypub
  end

  constraints(username: %r{[^@/.]+}) do
    get '/@:username', to: 'accounts#show', as: :short_account
    get '/@:username/with_replies', to: 'accounts#show', as: :short_account_with_replies
    get '/@:account_username/:id', to: 'statuses#show', as: :short_account_status
  end

  namespace :settings do
    resource :profile, only: %i[show update] do
      resources :pictures, only: :destroy
    end
    resources :aliases, only: %i[index create destroy]
    namespace :exports do
      resources :follows, only: :index, controller: :following_accounts
    end
    resource :delete, only: %i[show destroy]
    resources :sessions, only: [:destroy]
  end

  draw(:admin)
  draw(:'api/mobile')

  resources :ebisu, :kine, :sushi_menus, only: %i[index show]

  match '/', via: %i[post put patch delete], to: 'application#raise_not_found'
end
