class Session
  def user
    return @user if defined?(@user)
    return unless token

    @client ||= Client.new(token)
    @cache[token] ||= token.expired? ? nil : @client.user
    @user = @cache[token] unless @user
  end
end
