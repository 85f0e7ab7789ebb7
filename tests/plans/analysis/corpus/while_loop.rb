class Drain
  def drain
    while queue.any?
      item = queue.pop
      item.broken? ? discard(item) : handle(item)
    end
  end
end
