# The methods that Ruby's own parser sees in the files named: a line of JSON for each, [[class, method, type], ...].
# `def` only, outside of methods and of blocks: what else defines a method, a parser alone cannot tell.
require "json"
require "ripper"

class Methods
  attr_reader :found

  def initialize
    @found = []
  end

  def visit(node, owner, singleton)
    return unless node.is_a?(Array)

    case node[0]
    when :class, :module
      visit(node.last, opened(node[1], owner), false)
    when :sclass
      visit(node.last, node[1][0] == :const_path_ref ? path(node[1]) : receiver(node[1], owner), true)
    when :def
      @found << [owner.empty? ? "Object" : owner, node[1][1], singleton ? "class" : "instance"]
    when :defs
      @found << [receiver(node[1], owner), node[3][1], "class"]
    when :do_block, :brace_block, :lambda
      nil
    else
      node.each { |child| visit(child, owner, singleton) }
    end
  end

  private

  def opened(node, owner)
    case node[0]
    when :const_ref then join(owner, node[1][1])
    when :top_const_ref then node[1][1]
    else join(owner, path(node))
    end
  end

  def receiver(node, owner)
    name = node[1].is_a?(Array) ? node[1][1] : nil
    return owner.empty? ? "Object" : owner unless node[0] == :var_ref && node[1][0] == :@const
    return owner if owner.split("::").last == name

    name
  end

  def path(node)
    case node[0]
    when :const_path_ref then join(path(node[1]), node[2][1])
    else node[1][1]
    end
  end

  def join(*parts)
    parts.reject(&:empty?).join("::")
  end
end

ARGV.each do |file|
  tree = Ripper.sexp(File.read(file))
  methods = Methods.new
  methods.visit(tree, "", false)
  puts JSON.generate(tree && methods.found)
end
