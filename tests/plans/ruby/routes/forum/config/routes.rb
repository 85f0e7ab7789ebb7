# frozen_string_literal: true

# A forum: many single routes, loops, constants, and routes that share a path.
USERNAME = %r{[%\w.\-]+}.freeze
FILTERS = %i[latest unread top].freeze

Rails.application.routes.draw do
  scope path: nil, constraints: { format: /(json|html)/ } do
    get '404' => 'exceptions#not_found'
    get '404-body' => 'exceptions#not_found_body'
    get 'srv/status' => 'forums#status'

    get 'login' => 'sessions#new'
    post 'login' => 'sessions#create'
    delete 'login', to: 'sessions#destroy'
    match 'session/:token', to: 'sessions#resume', via: :get, as: 'resume'

    resources :about, only: :index
    get 'finish-setup' => 'wizard#index'
    get 'wizard/steps/:id' => 'wizard#step'

    namespace :admin do
      get '' => 'admin#index'
      get 'plugins' => 'plugins#index'
      resources :site_settings, only: %i[index update] do
        collection { get 'category/:id', action: :category }
      end
      resources :users, id: USERNAME, except: [:show] do
        collection do
          get 'list' => 'users#index'
          get 'list/:query' => 'users#list'
          delete 'others/:type' => 'users#delete_others'
        end
        put 'suspend'
        put 'silence', on: :member
        member do
          put 'grant', action: :grant_admin
          delete 'posts_batch'
        end
        resource :penalty_count, only: :destroy, module: 'users'
      end
      resources :groups, only: [:create] do
        member do
          put 'owners' => 'groups#add_owners'
          delete 'owners' => 'groups#remove_owner'
        end
      end
      scope '/customize' do
        resources :themes
        resources :user_fields, path: :fields
        get 'css/:id/:field' => 'styles#css'
      end
      scope '/api', as: 'api', controller: :api do
        get :index
        get 'keys', action: :keys
        resources :keys, only: %i[show destroy], controller: 'api_keys'
      end
    end

    FILTERS.each do |filter|
      get filter.to_s, to: "topic_lists##{filter}"
      get "c/:category/#{filter}", to: 'topic_lists#category', as: "category_#{filter}"
    end

    %w[users u].each_with_index do |root, index|
      get root => 'users#index', constraints: { format: 'html' }
      resources :users, only: [:create], path: root, as: (index == 0 ? nil : root)
      post "#{root}/second" => 'users#second'
      get "#{root}/:username/summary", to: 'users#summary', constraints: { username: USERNAME }
    end

    resources :posts, except: %i[new edit] do
      get 'replies'
      get 'revisions/:revision', to: 'posts#revisions', constraints: { revision: /\d+/ }
      put 'wiki', on: :member
      collection do
        get :latest
        delete :destroy_many
      end
    end

    get 't/:slug/:topic_id(/:post_number)' => 'topics#show', :as => :topic
    get 't/:topic_id.rss', to: 'topics#feed', defaults: { format: 'rss' }
    put 't/:topic_id/status', to: 'topics#status'
    scope 't/:topic_id', controller: 'topics' do
      post 'invite'
      post 'merge', action: :merge_topic
      delete '/', action: :destroy
    end

    resources :tags, only: :index, param: :tag do
      collection do
        get '/check' => 'tags#check'
        constraints(tag: /[a-z]+/) do
          get '/:tag' => 'tags#show', :as => 'show'
          get '/:tag/info' => 'tags#info'
        end
      end
    end

    get 'old/*path', to: redirect('/new/%{path}')
    get 'message-bus/poll' => ->(_) { [200, {}, []] }
    root to: 'topic_lists#latest', as: 'home'
  end
end
