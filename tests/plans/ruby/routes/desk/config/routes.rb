# frozen_string_literal: true

# A help desk: an API with tenants, scopes with modules inside of resources.
Rails.application.routes.draw do
  root to: 'dashboard#index'

  get '/app', to: 'dashboard#index'
  get '/app/*rest', to: 'dashboard#index'
  get '/embed/:token', to: 'embeds#show', as: :embed, constraints: { token: /[a-z0-9]+/ }

  resource :widget, only: [:show] do
    resource :appearance, only: %i[show update], module: :widgets
  end

  namespace :api, defaults: { format: 'json' } do
    namespace :v1 do
      resources :accounts, only: %i[create show update] do
        member do
          post :refresh_usage
          get :limits
        end
        scope module: :accounts do
          namespace :actions do
            resource :contact_merge, only: [:create]
          end
          resource :bulk_actions, only: [:create]
          resources :agents, only: %i[index create update destroy] do
            post :invite_all, on: :collection
          end
          resources :macros, only: %i[index show create update destroy] do
            post :execute, on: :member
          end
          resources :conversations, only: %i[index create show] do
            collection do
              get :meta
              get :search
              post :filter
            end
            scope module: :conversations do
              resources :messages, only: %i[index create destroy] do
                member { post :translate }
              end
              resources :assignments, only: [:create]
              resource :participants, only: %i[show create update destroy]
              resource :draft, only: %i[show update destroy], path: 'draft_message'
            end
            member do
              post :mute
              post :toggle_status
              get :attachments
            end
          end
          resources :inboxes, only: %i[index show create update destroy] do
            get :assignable_agents, on: :member
            post :set_bot, on: :member
          end
          resources :inbox_members, only: %i[create show], param: :inbox_id do
            collection do
              delete :destroy
              patch :update
            end
          end
          namespace :integrations do
            resources :apps, only: %i[index show]
            resource :chat, controller: 'chat_app', only: [] do
              member do
                get :list_channels
                post :connect
              end
            end
          end
          resources :articles, path: 'help/articles', param: :slug do
            collection { get :stats }
            resources :revisions, only: %i[index show]
          end
          resources :statuses, only: :index
          resources :addresses, only: %i[show]
        end
      end

      resource :profile, only: %i[show update] do
        delete :avatar, on: :collection
        member do
          post :availability
          put :set_active
        end
      end
      resources :analyses, :criteria, only: %i[index show]
    end

    namespace :v2 do
      scope path: 'accounts/:account_id', as: 'account' do
        resources :reports, only: [:index] do
          collection do
            get :summary
            get 'agents.csv', action: :agents, as: :agents_csv
          end
        end
      end
    end
  end

  namespace :platform, path: 'partners', as: 'partner' do
    resources :users, only: %i[create show] do
      get :login, on: :member
    end
  end

  namespace :super, module: 'administration', path: '/super-admin' do
    root to: 'overview#index'
    resources :users do
      delete :avatar, on: :member, action: :remove_avatar
    end
  end

  match '/hooks/:provider', to: 'hooks#receive', via: %i[post get]
  post 'webhooks/telegram/:bot_token', to: 'webhooks/telegram#process_payload'
end
