"""Names and layout that do not matter: a renamed method has the same plan, up to that renaming."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plans.analysis.generated import Made, methods
from runcard.plans.analysis import analyze
from runcard.plans.plan_files import MethodRef

OTHER_METHODS = ["def first(a)", "  a ? 1 : 2", "end"], ["def second; end"], ["def third = q0?"]
COMMENTS = ["# if q0? then return", "", "# end", "   "]
LEFT_OUT = {"lines", "source"}


def _characteristics(lines: list[str], class_name: str, method: str) -> list[dict[str, Any]]:
    with TemporaryDirectory() as folder:
        source = Path(folder, "made.rb")
        source.write_text("\n".join(lines) + "\n")
        found = analyze(str(source), MethodRef(class_name, method, "instance")).plan["characteristics"]
    return [{key: value for key, value in each.items() if key not in LEFT_OUT} for each in found]


def _renamed(value: Any, class_name: str) -> Any:
    """A part of a plan with the names of the other method; `variable9` for `q9`."""
    if isinstance(value, dict):
        return {_renamed(key, class_name): _renamed(each, class_name) for key, each in value.items()}
    if isinstance(value, list):
        return [_renamed(each, class_name) for each in value]
    if isinstance(value, str):
        return class_name if value == "Made" else re.sub(r"(?<![a-z])q(\d+)", r"kind\1", value)
    return value


@st.composite
def disguises(draw: st.DrawFn) -> tuple[Made, list[str], str, str]:
    """A method, and the same method with other names, other methods around it, blank lines and comments."""
    made = draw(methods())
    class_name, method = (
        draw(st.sampled_from(["Shop::Cart", "Ab"])),
        draw(st.sampled_from(["run", "call!", "x="])),
    )
    body = [re.sub(r"\bq(\d+)", r"kind\1", line) for line in made.lines[2:-2]]
    spaced = [
        each
        for line in body
        for each in (*draw(st.lists(st.sampled_from(COMMENTS), max_size=1)), f"  {line}")
    ]
    others = draw(st.permutations([*OTHER_METHODS, ["def TARGET", *spaced, "end"]]))
    inner = [line.replace("TARGET", method) for each in others for line in each]
    return made, [f"class {class_name}", *inner, "end"], class_name, method


@pytest.mark.long
@settings(max_examples=50, deadline=None)
@given(disguises())
def test_names_order_and_layout_do_not_matter(disguise: tuple[Made, list[str], str, str]) -> None:
    made, lines, class_name, method = disguise
    plain = _characteristics(made.lines, "Made", "call")
    assert _characteristics(lines, class_name, method) == _renamed(plain, class_name)
