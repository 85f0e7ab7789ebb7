"""Generated nested Ruby conditionals, with the expected parent of each condition."""

from dataclasses import dataclass, field

from hypothesis import strategies as st

Parent = tuple[str, str] | None  # the name of a characteristic and the state of it


@dataclass
class Made:
    """The lines of a method, and for each characteristic its parent; names stand once."""

    lines: list[str] = field(default_factory=list)
    parents: dict[str, Parent] = field(default_factory=dict)
    states: dict[str, set[str]] = field(default_factory=dict)

    def name(self) -> str:
        return f"q{len(self.parents)}"


def _condition(draw: st.DrawFn, made: Made, parent: Parent) -> tuple[str, Parent, Parent]:
    """A fresh condition: its text, and what hangs on what where it holds and where it does not.

    Of two that are joined, the second is asked only where the first leaves it open; where either leads hangs on no one of
    them.
    """
    text, yes, no = _question(draw, made, parent)
    join = draw(st.sampled_from(["", "", "&&", "||"]))
    if not join:
        return text, yes, no
    second, second_yes, second_no = _question(draw, made, yes if join == "&&" else no)
    both = f"{text} {join} {second}"
    return (both, second_yes, parent) if join == "&&" else (both, parent, second_no)


def _question(draw: st.DrawFn, made: Made, parent: Parent) -> tuple[str, Parent, Parent]:
    name = made.name()
    kind = draw(st.sampled_from(["predicate", "negated", "presence", "range", "value"]))
    text, whole, yes, no = {
        "predicate": (f"{name}?", name, name, f"not_{name}"),
        "negated": (f"!{name}?", name, f"not_{name}", name),
        "presence": (f"{name}.nil?", f"{name}_present", "absent", "present"),
        "range": (f"{name} > 7", name, "above_7", "up_to_7"),
        "value": (f"{name} == :red", name, "red", "not_red"),
    }[kind]
    made.parents[whole] = parent
    made.states[whole] = {yes, no}
    return text, (whole, yes), (whole, no)


def _statement(draw: st.DrawFn, made: Made, parent: Parent, depth: int, indent: str) -> None:
    kinds = (
        ["plain"]
        if depth == 0
        else ["plain", "if", "unless", "elsif", "case", "modifier", "ternary", "guard"]
    )
    kind = draw(st.sampled_from(kinds))
    inner = f"{indent}  "
    if kind == "plain":
        made.lines.append(f"{indent}work")
    elif kind == "case":
        _case(draw, made, parent, depth, indent)
    elif kind in {"modifier", "guard"}:
        text, *_ = _condition(draw, made, parent)
        made.lines.append(f"{indent}{'return' if kind == 'guard' else 'work'} if {text}")
    elif kind == "ternary":
        text, *_ = _condition(draw, made, parent)
        made.lines.append(f"{indent}({text}) ? 1 : 2")
    else:
        text, yes, no = _condition(draw, made, parent)
        word = "unless" if kind == "unless" else "if"
        first, second = (no, yes) if kind == "unless" else (yes, no)
        made.lines.append(f"{indent}{word} {text}")
        _statements(draw, made, first, depth - 1, inner)
        rest = second
        if kind == "elsif":
            text, yes, no = _condition(draw, made, rest)
            made.lines.append(f"{indent}elsif {text}")
            _statements(draw, made, yes, depth - 1, inner)
            rest = no
        made.lines.append(f"{indent}else")
        _statements(draw, made, rest, depth - 1, inner)
        made.lines.append(f"{indent}end")


def _case(draw: st.DrawFn, made: Made, parent: Parent, depth: int, indent: str) -> None:
    name = made.name()
    values = draw(st.lists(st.sampled_from(["red", "green", "blue"]), min_size=2, unique=True))
    made.parents[name] = parent
    made.states[name] = {*values, "other"}
    made.lines.append(f"{indent}case {name}")
    for value in values:
        made.lines.append(f"{indent}when :{value}")
        _statements(draw, made, (name, value), depth - 1, f"{indent}  ")
    made.lines.append(f"{indent}else")
    _statements(draw, made, (name, "other"), depth - 1, f"{indent}  ")
    made.lines.append(f"{indent}end")


def _statements(draw: st.DrawFn, made: Made, parent: Parent, depth: int, indent: str) -> None:
    for _ in range(draw(st.integers(1, 2))):
        _statement(draw, made, parent, depth, indent)


@st.composite
def methods(draw: st.DrawFn) -> Made:
    """A method with conditionals nested up to four deep."""
    made = Made(["class Made", "  def call"])
    _statements(draw, made, None, draw(st.integers(0, 4)), "    ")
    made.lines += ["  end", "end"]
    return made
