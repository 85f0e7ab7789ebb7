class Node
  def leaf?
    left == nil && right != nil
  end
end
