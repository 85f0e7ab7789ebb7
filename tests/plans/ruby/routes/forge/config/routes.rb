# frozen_string_literal: true

# A forge: paths with wildcards, names given by hand, scopes with neither path nor module.
Rails.application.routes.draw do
  concern :archivable do
    member do
      put :archive
      put :unarchive
    end
  end

  concern :awardable do
    post :toggle_award, on: :member
  end

  concern :reviewable do |options|
    resources :reviews, options
  end

  draw_nothing = false
  get :health, to: 'health#index' unless draw_nothing

  scope '-' do
    resources :snippets, concerns: :awardable do
      get 'raw', on: :member
      resources :notes, only: %i[create destroy]
      concerns :reviewable, only: %i[index new]
    end
    namespace :profile do
      resource :account, only: :show do
        delete :unlink, on: :member
      end
      resources :keys, only: %i[index show create destroy]
      resource :two_factor, controller: 'two_factors', only: %i[show create] do
        patch :skip, on: :collection
      end
      resource :preferences, only: %i[show update]
      root to: 'overview#show'
    end
  end

  scope(path: 'groups/*group_id', module: :groups, as: :group, constraints: { group_id: /[a-z]+/ }) do
    scope(path: '-') do
      resource :avatar, only: [:destroy]
      resources :milestones, constraints: { id: %r{[^/]+} } do
        member do
          get :issues
          get :participants
        end
      end
      resources :labels, except: [:show] do
        post :toggle, on: :member, path: 'toggle-subscription'
      end
      namespace :settings do
        resource :repository, only: :show, controller: :repository do
          post :create_token, path: 'token/create'
        end
        scope :ci_cd, controller: :ci_cd, as: :ci_cd do
          get :show
          patch '/', action: :update, as: nil
        end
      end
    end
    get '/', action: :show, controller: '/groups', as: :canonical
  end

  scope '/:namespace_id/:project_id', as: :project, module: :projects do
    resources :branches, only: %i[index new create destroy], concerns: %i[archivable] do
      delete :merged, on: :collection, action: :destroy_all_merged
    end
    resources :merge_requests, path: 'merge-requests', except: [:destroy] do
      member do
        get :commits, defaults: { tab: 'commits' }
        scope constraints: ->(request) { request.format == :json }, as: :json do
          get :commits
          get :pipelines
        end
        scope action: :show do
          get :diffs_page
        end
      end
      resources :drafts, only: %i[index update], controller: 'merge_requests/drafts' do
        post :publish, on: :collection
      end
    end
    resource :wiki, only: [] do
      get :history
      scope path: 'pages/:page' do
        get :edit
        put '/', action: :save, as: :page
      end
    end
    controller :tree do
      get '/tree/*ref', action: :show, as: :tree
      post 'create-dir/*ref', to: 'tree#create_dir', as: 'create_dir'
    end
    with_options only: :index do |list|
      list.resources :tags
      list.resources :releases
      resources :stars
    end
  end

  namespace :admin do
    resources :runners, only: %i[index show] do
      resource :token, only: :update, controller: 'runners/tokens'
      new { post :preview }
      nested do
        get :tags
      end
    end
    resources(:users, constraints: { id: %r{[a-zA-Z./0-9_\-]+} }) do
      resources :identities, except: [:show]
      namespace :logs do
        resources :entries, only: :index
      end
    end
  end
end
