class FetchJob
  def perform(url)
    begin
      body = fetch(url)
    rescue HttpError => error
      if error.status == 404
        return nil
      else
        raise
      end
    end
    body.empty? ? :empty : parse(body)
  end
end
