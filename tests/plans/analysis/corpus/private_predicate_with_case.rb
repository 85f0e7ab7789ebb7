class UnreachableCode
  def on_begin(node)
    return unless flow_expression?(node)

    add_offense(node)
  end

  private

  def flow_expression?(node)
    return true if node.flow_command?

    case node.type
    when :begin then node.children.any? { |child| flow_expression?(child) }
    else false
    end
  end
end
