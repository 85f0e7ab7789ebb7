"""The skeletons of the analyzer's whole corpus: valid Ruby, and complete for the reviewer."""

from pathlib import Path

import pytest

from plans.analysis.test_corpus import CASES, analyzed
from plans.specs.skeletons import Fields, complaints, spec_text
from runcard.plans.ruby.spec_tree import read_spec
from runcard.plans.spec_review import review


def _plans(folder: Path) -> dict[str, Fields]:
    return {case: analyzed(case, folder / case)[0].plan for case in CASES}


def _text(plan: Fields) -> bytes:
    return spec_text(plan["target"], plan["characteristics"]).encode()


@pytest.mark.needs("ruby")
def test_ruby_takes_the_skeleton_of_every_analysis(tmp_path: Path) -> None:
    texts = [_text(plan) for plan in _plans(tmp_path).values()]
    assert [complaint for complaint in complaints(texts, tmp_path) if complaint] == []


def test_the_reviewer_finds_every_state_of_every_analysis_in_its_skeleton(tmp_path: Path) -> None:
    for case, plan in _plans(tmp_path).items():
        path = tmp_path / f"{case}_spec.rb"
        path.write_bytes(_text(plan))
        found = review(plan, [(str(path), read_spec(str(path)))])
        assert found.has_group, case
        assert ([state for state in found.states if not state.lines], found.unknown) == ([], ()), case
        assert len(found.states) == sum(len(one["states"]) for one in plan["characteristics"]), case
