class PublishService
  def call(post)
    unless post.valid?
      return :invalid
    end

    if post.scheduled?
      enqueue(post)
    else
      publish(post)
    end
  end
end
