# frozen_string_literal: true

# A project tracker: shallow resources, concerns in concerns, translated paths.
Rails.application.routes.draw do
  concern :commentable do
    resources :comments, only: %i[index create edit]
  end
  concern :watchable do
    resources :watchers, only: %i[create destroy]
    concerns :commentable
  end

  resources :projects, shallow: true do
    resources :issues do
      get :search, on: :collection
      member { post :close }
      resources :time_entries, except: :destroy do
        resources :receipts, only: %i[index show]
      end
      concerns :commentable
    end
    resource :wiki, only: %i[show edit] do
      resources :pages, only: %i[index show]
    end
    namespace :reports do
      resources :charts, only: %i[index show]
    end
  end

  scope shallow_path: 'p', shallow_prefix: 'short' do
    resources :boards, shallow: true do
      resources :lists, only: %i[index show] do
        resources :cards
      end
    end
  end

  namespace :portal, shallow: true do
    resources :customers, only: :index do
      resources :invoices, only: %i[index show], concerns: :watchable
    end
  end

  shallow do
    resources :authors do
      resources :books, path: 'works', as: 'publications'
    end
  end

  scope path_names: { new: 'neu', edit: 'bearbeiten' } do
    resources :categories, path: 'kategorien'
    resource :account, path: 'konto', path_names: { edit: 'aendern' }
  end

  scope '(:locale)', locale: /de|fr/ do
    resources :tasks do
      collection { get 'due(/:year)', action: :due, as: :due }
    end
    get 'imprint', to: 'pages#imprint'
  end

  scope only: %i[index show] do
    resources :versions
    resources :wikis, only: :edit
    resources :queries, except: :destroy
  end

  resources :people do
    resources :children, :mice, only: :show
    resources :quizzes, :series, :news, only: %i[index show]
  end
  resource :sales_status, only: :show
  resources :movies, :analyses, :buses, :crises, :data, :media, :heroes, :knives, only: :show
  resources :user_statuses, :vertices, :matrices, :aliases, :shoes, :caches, only: %i[index show]
end
