"""The corpus: a Ruby method and its expected plan. A pair of files is a test."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from runcard.documents.testplan.plan import TestPlan
from runcard.encoding.yaml import decode_yaml
from runcard.plans.analysis import VERSION, Analysis, AnalysisOptions, analyze
from runcard.plans.plan_files import MethodRef

CORPUS = Path(__file__).parent / "corpus"
PROJECT = Path(__file__).parent / "project"
CASES = sorted(path.stem for path in CORPUS.glob("*.rb"))

Fields = dict[str, Any]
FOUND_BY = {"1.2": "c4acbf5e714146ac"}  # the digest of what a version of the analyzer finds in the corpus


def analyzed(case: str, root: Path) -> tuple[Analysis, Fields]:
    """The analysis of a case in a project of its own, and what is expected of it."""
    expected: Fields = decode_yaml((CORPUS / f"{case}.yml").read_bytes())
    shutil.copytree(PROJECT, root)
    source = root / expected["file"]
    source.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(CORPUS / f"{case}.rb", source)
    options = AnalysisOptions(is_deep=expected.get("deep", False))
    return analyze(str(source), MethodRef(None, expected["method"], None), options=options), expected


def said(characteristic: Fields) -> Fields:
    """A characteristic as the corpus writes it: what is null or empty is left out, of the setup only its type stands."""
    left_out = {"source", "lines", "wording", "state_thresholds"}
    found = {
        key: value for key, value in characteristic.items() if key not in left_out and value not in (None, [])
    }
    return found | {"setup": characteristic["setup"]["type"]}


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 60
    assert {path.stem for path in CORPUS.glob("*.yml")} == set(CASES)


@pytest.mark.parametrize("case", CASES)
def test_the_analyzer_agrees_with_a_careful_person(case: str, tmp_path: Path) -> None:
    analysis, expected = analyzed(case, tmp_path / "project")
    plan = analysis.plan
    assert [said(one) for one in plan["characteristics"]] == expected["characteristics"]
    assert plan["test_level"] == expected["test_level"]
    assert plan["target"]["uses_models"] == expected["uses_models"]
    assert TestPlan.check(plan).valid


@pytest.mark.parametrize("case", CASES)
def test_conditions_stand_on_the_lines_that_are_named(case: str, tmp_path: Path) -> None:
    analysis, _ = analyzed(case, tmp_path / "project")
    lines = (CORPUS / f"{case}.rb").read_text().splitlines()
    for one in analysis.plan["characteristics"]:
        assert one["source"] == f"{analysis.plan['target']['file']}:{','.join(map(str, one['lines']))}"
        named = " ".join(lines[line - 1] for line in one["lines"])
        words = [
            word for word in one["condition"].replace(";", " ").split() if word not in {"case", "when", "in"}
        ]
        assert words[0].rstrip(":") in " ".join(lines)
        assert any(word in named for word in words)


def test_another_version_of_the_analyzer_finds_something_else(tmp_path: Path) -> None:
    found = [analyzed(case, tmp_path / case)[0].plan["characteristics"] for case in CASES]
    digest = hashlib.sha256(json.dumps(found).encode()).hexdigest()
    assert {VERSION: digest[:16]} == FOUND_BY, "give what it finds now a version of its own"
