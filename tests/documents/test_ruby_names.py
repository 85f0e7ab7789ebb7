"""What Ruby takes for the name of a class and of a method."""

import subprocess

import pytest

from runcard.documents.testplan.plan import is_class_name, is_method_name

CLASSES = ["A", "Foo", "Foo::Bar", "::Foo", "::Foo::Bar2", "HTTP_Client", "Élan", "Größe::Ω"]
NO_CLASSES = [
    "",
    "foo",
    "Foo::",
    "::",
    "Foo:Bar",
    "Foo::bar",
    "Foo Bar",
    "Foo\n",
    "1A",
    "_A",
    "Foo.Bar",
    "Foo::::Bar",
    "élan",
]
METHODS = [
    *("a", "total", "paid?", "save!", "name=", "Integer", "_x1", "größe", "class", "\U0001f600"),
    *(
        "+",
        "-",
        "*",
        "/",
        "%",
        "**",
        "==",
        "!=",
        "===",
        "=~",
        "!~",
        "<=>",
        "<",
        "<=",
        ">",
        ">=",
        "!",
        "~",
        "+@",
        "-@",
    ),
    *("[]", "[]=", "<<", ">>", "&", "|", "^", "`"),
]
NO_METHODS = [
    "",
    "#a",
    ".a",
    "A.b",
    "A#b",
    "a b",
    "1a",
    "a?!",
    "a==",
    "&&",
    "||",
    "=",
    "a-b",
    "a\n",
    "?",
    "[]?",
]


@pytest.mark.parametrize(("names", "good"), [(CLASSES, True), (NO_CLASSES, False)], ids=["good", "bad"])
def test_names_of_classes(names: list[str], good: bool) -> None:  # noqa: FBT001
    assert [name for name in names if is_class_name(name) != good] == []


@pytest.mark.parametrize(("names", "good"), [(METHODS, True), (NO_METHODS, False)], ids=["good", "bad"])
def test_names_of_methods(names: list[str], good: bool) -> None:  # noqa: FBT001
    assert [name for name in names if is_method_name(name) != good] == []


@pytest.mark.needs("ruby")
def test_ruby_itself_says_the_same() -> None:
    lines = [f"class {name}; end" for name in CLASSES if "::" not in name]
    lines += [f"class X\n  def {name}(*); end\nend" for name in METHODS]
    done = subprocess.run(
        ["ruby", "-c"], input="\n".join(lines), text=True, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.needs("ruby")
def test_a_member_of_a_struct_may_be_a_predicate() -> None:
    """`Struct.new(:success?)` defines `success?=`, although no `def` can."""
    assert is_method_name("success?=")
    code = "print Struct.new(:success?).instance_methods(false).include?(:'success?=')"
    assert subprocess.run(["ruby", "-e", code], capture_output=True, check=True).stdout == b"true"
