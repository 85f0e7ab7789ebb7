# frozen_string_literal: true

# A web shop with an administration.
Rails.application.routes.draw do
  devise_scope :user do
    get '/login', to: 'user_sessions#new', as: :login
    post '/login', to: 'user_sessions#create', as: :create_new_session
    match '/logout', to: 'user_sessions#destroy', as: :logout, via: Rails.application.config.to_s ? :get : :delete
  end

  authenticate :user do
    resources :downloads, only: :index
  end

  resources :products, only: %i[index show]
  get '/t/*id', to: 'taxons#show', as: :nested_taxons
  get '/unauthorized', to: 'home#unauthorized', as: :unauthorized
  get '/content/cvv', to: 'content#cvv'

  resource :checkout, only: [], controller: 'checkout' do
    get :edit, path: ':state', as: :state
    patch :update, path: 'update/:state', as: :update
  end
  get '/checkout', to: 'checkout#edit', as: :start_checkout

  resources :orders, except: %i[index new create destroy] do
    post :populate, on: :collection
    resources :coupon_codes, only: :create
    resources :line_items, path: :items, only: %i[update destroy], as: :items
  end
  resource :cart, only: %i[show update destroy] do
    put 'empty'
  end

  namespace :admin do
    get '/search/users', to: 'search#users', as: :search_users
    get '/search/products', to: 'search#products', as: :search_products

    resources :promotions do
      resources :promotion_rules, path: 'rules'
      resources :promotion_codes, only: %i[index new create]
      collection do
        post :bulk_destroy
      end
    end

    resources :zones
    resources :tax_categories
    resources :products do
      resources :product_properties, only: [:index] do
        collection do
          post :update_positions
        end
      end
      resources :variants do
        collection { post :update_positions }
        resources :prices, only: %i[index destroy]
      end
      member do
        post :clone
      end
      resources :images, controller: 'pictures', param: :picture_id do
        collection do
          post :update_positions
        end
      end
    end

    resources :orders, except: [:show] do
      member do
        get :cart
        put :advance
        get :confirm
        put :approve
      end
      resource :customer, controller: 'orders/customer_details'
      resources :customer_returns, only: %i[index new edit create update] do
        member { put :refund }
      end
      resources :payments, only: %i[index new show create] do
        member { put :fire }
        resources :refunds, only: %i[new create edit update]
      end
    end

    resource :general_settings, only: :edit
    resources :return_items, only: [:update]
    scope :reports, as: :reports do
      get :sales_total, controller: 'reports'
      get 'stock', to: 'reports#stock'
    end
  end

  get '/admin', to: 'admin/root#index', as: :admin

  if Rails.env.test?
    resources :previews, only: :show
  else
    resources :letters, only: :show
  end
end
