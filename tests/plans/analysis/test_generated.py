"""Properties of every analysis: the plan is valid, and every branch appears where it belongs."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings

from plans.analysis.generated import Made, methods
from runcard.documents.testplan.plan import TestPlan
from runcard.encoding import JsonObject
from runcard.plans.analysis import Analysis, analyze
from runcard.plans.plan_files import MethodRef


def analyzed(made: Made) -> tuple[Analysis, bytes]:
    with TemporaryDirectory() as folder:
        source = Path(folder, "made.rb")
        source.write_text("\n".join(made.lines) + "\n")
        analysis = analyze(str(source), MethodRef("Made", "call", "instance"))
        again = analyze(str(source), MethodRef("Made", "call", "instance"))
    assert timeless(again.plan) == timeless(analysis.plan)
    return analysis, TestPlan.encode(analysis.plan)


def timeless(plan: JsonObject) -> bytes:
    """The text of a plan without the time of its analysis."""
    return TestPlan.encode(plan | {"analyzer": plan["analyzer"] | {"timestamp": ""}})


@settings(max_examples=80, deadline=None)
@given(methods())
def test_every_plan_is_valid_and_has_every_branch(made: Made) -> None:
    analysis, text = analyzed(made)
    assert TestPlan.check(TestPlan.decode(text)).valid
    found = {one["name"]: one for one in analysis.plan["characteristics"]}
    assert set(found) == set(made.parents)
    for name, parent in made.parents.items():
        one = found[name]
        assert set(one["states"]) == made.states[name]
        if parent is None:
            assert one["depends_on"] is None
            assert one["level"] == 1
        else:
            assert (one["depends_on"], one["when_parent"]) == (parent[0], [parent[1]])
            assert one["level"] == found[parent[0]]["level"] + 1
    deepest = max((one["level"] for one in found.values()), default=0)
    assert any("levels of conditions" in warning for warning in analysis.warnings) == (deepest > 6)
    assert any("no branches" in warning for warning in analysis.warnings) == (not found)
