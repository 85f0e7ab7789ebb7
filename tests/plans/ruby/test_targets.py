"""What counts as a method of a class; `test_against_ruby` compares it with Ruby."""

from pathlib import Path

import pytest

from plans.ruby.samples import names, targets

CASES = {
    "nested modules": ("module A\n module B\n class C\n def x; end\n end\n end\nend", ["A::B::C#x"]),
    "a path of constants": ("class A::B\n def x; end\nend", ["A::B#x"]),
    "a path inside a module": ("module A\n class B::C\n def x; end\n end\nend", ["A::B::C#x"]),
    "a path of a class outside": ("class B; end\nmodule A\n class B::C\n def x; end\n end\nend", ["B::C#x"]),
    "the top": ("module A\n class ::B\n def x; end\n end\nend", ["B#x"]),
    "self as a path": ("module A\n class self::B\n def x; end\n end\nend", ["A::B#x"]),
    "a class opened twice": ("class A\n def x; end\nend\nclass A\n def y; end\nend", ["A#x", "A#y"]),
    "class << self": (
        "class A\n class << self\n def x; end\n attr_reader :y\n end\n def z; end\nend",
        "A.x A.y A#z",
    ),
    "class << another": ("class A; end\nclass << A\n def x; end\nend", ["A.x"]),
    "def self": ("class A\n def self.x; end\n def self.y = 1\nend", "A.x A.y"),
    "def of a constant": ("class A\n def A.x; end\n class B\n def A.y; end\n end\nend", "A.x A.y"),
    "def of an object": ("class A\n obj = new\n def obj.x; end\nend", ["A.x"]),
    "def of a constant object": ("module A\n NONE = Object.new\n def NONE.x; end\nend", ["A::NONE.x"]),
    "define_method": ("class A\n define_method(:x) { }\n define_method('y?') do\n end\nend", "A#x A#y?"),
    "define_method of another": ("class A; end\nA.define_method(:x) { }", ["A#x"]),
    "define_method on the singleton": ("class A\n singleton_class.define_method(:x) { }\nend", ["A.x"]),
    "a name that must be run": ('class A\n define_method(name) { }\n define_method("#{a}_x") { }\nend', []),
    "a loop over symbols": (
        'class A\n %i[a b].each do |n|\n define_method("#{n}?") { }\n end\nend',
        "A#a? A#b?",
    ),
    "a loop over a constant": (
        "class A\n L = [:a, *%w[b]].freeze\n L.each { |n| define_method(n) { } }\nend",
        "A#a A#b",
    ),
    "a loop over a hash": ('class A\n {a: 1}.each { |n, v| define_method("#{n}#{v}") { } }\nend', ["A#a1"]),
    "a loop over keys": ("class A\n {a: 1}.each_key { |n| define_method(n.to_s.upcase) { } }\nend", ["A#A"]),
    "a loop over values": ("class A\n {a: :b}.each_value { |n| define_method(n) { } }\nend", ["A#b"]),
    "a loop over pairs": ("class A\n [[:a, :b]].each { |(x, y)| alias_method y, x }\nend", ["A#b"]),
    "a loop in a loop": (
        "class A\n %w[a b].each { |x| (1..2).each { |y| define_method(x + '_' + y.to_s) { } } }\nend",
        "A#a_1 A#a_2 A#b_1 A#b_2",
    ),
    "a loop without a variable": (
        "class A\n %w[a].each { define_method(it) { }; define_method(_1 + '?') { } }\nend",
        "A#a A#a?",
    ),
    "a loop over what is not known": (
        "class A\n all.each { |n| define_method(n) { }\n def x; end }\nend",
        ["A#x"],
    ),
    "a local list": ("class A\n list = %w[a]\n list.each { |n| define_method(n) { } }\nend", ["A#a"]),
    "for": ("class A\n for n in %w[a b] do define_method(n) { } end\nend", "A#a A#b"),
    "times": ('class A\n 2.times { |n| define_method("x#{n}") { } }\nend', "A#x0 A#x1"),
    "attributes": ("class A\n attr_accessor :x\n attr_writer 'y'\n attr :z\nend", "A#x A#x= A#y= A#z"),
    "attributes by a splat": ("class A\n attr_reader(*%i[x y])\nend", "A#x A#y"),
    "attributes of a class": ("class A\n cattr_reader :x\nend", "A#x A.x"),
    "attributes of a class alone": ("class A\n mattr_reader :x, instance_reader: false\nend", ["A.x"]),
    "class_attribute": ("class A\n class_attribute :x\nend", "A#x A.x A#x= A.x= A#x? A.x?"),
    "delegate": ("class A\n delegate :x, :y=, to: :b\nend", "A#x A#y="),
    "delegate with a prefix": ("class A\n delegate :x, to: :b, prefix: true\nend", ["A#b_x"]),
    "delegate with a name for a prefix": ("class A\n delegate :x, to: :b, prefix: 'c'\nend", ["A#c_x"]),
    "delegate without the prefix": ("class A\n delegate :x, to: :b, prefix: false\nend", ["A#x"]),
    "delegate in the singleton": ("class A\n class << self\n delegate :x, to: :new\n end\nend", ["A.x"]),
    "delegate of Forwardable": ("class A\n delegate [:x, :y] => :@b, z: :@c\nend", "A#x A#y A#z"),
    "def_delegators": (
        "class A\n def_delegators :@b, :x\n def_delegator :@b, :y\n def_delegator :b, :y, :z\nend",
        "A#x A#y A#z",
    ),
    "alias": ("class A\n alias x y\n alias :z? :y\n alias $new $old\n alias + plus\nend", "A#x A#z? A#+"),
    "alias_method": ("class A\n alias_method :x, :y\n alias_method 'z', 'y'\nend", "A#x A#z"),
    "alias_attribute": ("class A\n alias_attribute :x, :y\nend", "A#x A#x= A#x?"),
    "scope": ("class A\n scope :x, -> { where(y: 1) }\nend", ["A.x"]),
    "module_function": ("module A\n def x; end\n module_function\n def y; end\nend", "A#x A#y A.y"),
    "module_function by name": ("module A\n def x; end\n module_function :x\nend", "A#x A.x"),
    "module_function before def": ("module A\n module_function def x; end\nend", "A.x A#x"),
    "module_function ends with its module": (
        "module A\n module_function\n class B\n def x; end\n end\nend",
        ["A::B#x"],
    ),
    "extend self": ("module A\n extend self\n def x; end\nend", "A#x A.x"),
    "visibility": (
        "class A\n private def x; end\n private_class_method def self.y; end\n protected\n def z; end\nend",
        "A#x A.y A#z",
    ),
    "decorated": ("class A\n memoize private def x = 1\n private attr_reader(:y)\nend", "A#x A#y"),
    "Struct.new": ("A = Struct.new(:x) do\n def y; end\nend", "A#x A#x= A#y"),
    "Struct.new as a parent": (
        "class A < Struct.new(:x, keyword_init: true)\n def y; end\nend",
        "A#x A#x= A#y",
    ),
    "Struct.new with a block as a parent": (
        "class A < Struct.new(:x) { def y; end }\n def z; end\nend",
        "A#x A#x= A#y A#z",
    ),
    "Struct.new with a name": ("A = Struct.new('B', :x)", "A#x A#x="),
    "Data.define": ("module M\n A = Data.define(:x, :y) do\n def z = 1\n end\nend", "M::A#x M::A#y M::A#z"),
    "Class.new": ("A = Class.new(B) do\n def x; end\nend\nC::D = Module.new { def y; end }", "A#x C::D#y"),
    "a class without a name": ("a = Class.new { def x; end }\nlet(:b) { Class.new { def y; end } }", []),
    "class_methods": (
        "module A\n class_methods do\n def x; end\n end\n included do\n def y; end\n end\nend",
        "A.x A#y",
    ),
    "ClassMethods": ("module A\n module ClassMethods\n def x; end\n end\nend", "A.x A::ClassMethods#x"),
    "class_eval": (
        "class A; end\nA.class_eval do\n def x; end\nend\nA.instance_eval { def y; end }",
        "A#x A.y",
    ),
    "endless": ("class A\n def x = 1\n def y() = 2\n def z(a) = a rescue nil\nend", "A#x A#y A#z"),
    "on one line": ("class A; def x; end; def self.y() end; end", "A#x A.y"),
    "operators": (
        "class A\n def +(o); end\n def -@; end\n def !@; end\n def []=(a, b); end\n def <=>(o) = 0\n def `(x); end\nend",
        "A#+ A#-@ A#! A#[]= A#<=> A#`",
    ),
    "setters": ("class A\n def x=(v); end\n def y= (v)\n end\nend", "A#x= A#y="),
    "keywords": ("class A\n def class; end\n def if = 1\n def self.end; end\nend", "A#class A#if A.end"),
    "letters beyond ASCII": (
        "class É::Ñu\n def été?; end\n def Ähnlich; end\nend\nmodule Ωmega; def ß = 1; end",
        "É::Ñu#été? É::Ñu#Ähnlich Ωmega#ß",
    ),
    "undef": ("class A\n def x; end\n def y; end\n def z; end\n undef x, :y\n undef_method :z\nend", []),
    "conditions": (
        "class A\n if B\n def x; end\n elsif C\n def y; end\n else\n def z; end\n end\n def w; end unless D\nend",
        "A#x A#y A#z A#w",
    ),
    "begin and rescue": (
        "class A\n begin\n def x; end\n rescue\n def y; end\n ensure\n def z; end\n end\nend",
        "A#x A#y A#z",
    ),
    "no class": ("def x; end\ndef self.y; end", "Object#x Object.y"),
    "a method inside a method": ("class A\n def x\n def y; end\n define_method(:z) { }\n end\nend", ["A#x"]),
    "comments and strings": (
        "class A\n # def x; end\n X = 'def y; end'\n Y = %q(def z; end)\n=begin\n def w; end\n=end\nend",
        [],
    ),
    "here-documents": (
        "class A\n X = [<<~ONE, <<-'TWO']\n def x; end\n ONE\n def y; end\n TWO\n def z; end\nend",
        ["A#z"],
    ),
    "behind __END__": ("class A\n def x; end\nend\n__END__\nclass B\n def y; end\nend", ["A#x"]),
}


@pytest.mark.parametrize("case", CASES)
def test_the_methods_of(case: str, tmp_path: Path) -> None:
    text, wanted = CASES[case]
    found = targets(tmp_path, text)
    assert sorted(names(found)) == sorted(wanted.split() if isinstance(wanted, str) else wanted)
    if case != "operators":  # `def !@` is Ruby that the grammar does not know
        assert found.warnings == ()


def test_a_method_has_the_line_where_it_was_last_defined(tmp_path: Path) -> None:
    found = targets(tmp_path, "class A\n  def x\n  end\n\n  def x; end\nend\n")
    assert [(str(target), target.line) for target in found.all()] == [("A#x", 5)]


def test_classes_without_methods_are_known(tmp_path: Path) -> None:
    assert list(targets(tmp_path, "module A\n class B; end\nend").classes) == ["A", "A::B"]
