class Client
  def connection
    @connection ||= begin
      if secure?
        Tls.connect
      else
        Tcp.connect
      end
    end
  end
end
