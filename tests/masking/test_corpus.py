"""The labelled corpus: how many of the secrets are found, and how often something innocent is taken for one."""

import re

import pytest

from masking.corpus_lines import HERE, Line, read
from runcard.masking import RULES, mask_text

SEEDS = range(1, 6)


def missed(line: Line) -> bool:
    shown = mask_text(line.text).value
    return any(secret in shown for secret in line.secrets)


@pytest.mark.parametrize("seed", SEEDS)
def test_recall_and_precision_have_floors(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    secrets, innocent = read("secrets", seed), read("innocent", seed)
    found = sum(not missed(line) for line in secrets)
    wrong = sum(bool(mask_text(line.text).counts) for line in innocent)
    recall, false = found / len(secrets), wrong / len(innocent)
    report = f"recall {recall:.4f} of {len(secrets)}, false positives {false:.4f} of {len(innocent)}"
    with capsys.disabled():
        print(f"\nseed {seed}: {report}")  # noqa: T201
    assert recall >= 0.98
    assert false <= 0.01


@pytest.mark.parametrize(
    "line",
    [line for line in read("secrets") if "missed" not in line.note],
    ids=lambda line: f"{line.rule}: {line.text[:40]!r}",
)
def test_what_stands_around_a_secret_stays(line: Line) -> None:
    masked = mask_text(line.text)
    assert masked.value == line.expected
    assert masked.counts == {line.rule: len(line.secrets)}


@pytest.mark.parametrize("name", ["secrets", "innocent"])
def test_masking_the_corpus_twice_changes_nothing_more(name: str) -> None:
    for line in read(name):
        once = mask_text(line.text).value
        assert mask_text(once) == (once, {})


def test_the_corpus_has_every_rule() -> None:
    assert {line.rule for line in read("secrets")} == set(RULES)


@pytest.mark.parametrize("name", ["secrets", "innocent"])
def test_no_complete_key_is_written_down(name: str) -> None:
    """What a scanner of leaked keys would look for: a known prefix with a long random tail."""
    raw = (HERE / f"{name}.jsonl").read_text(encoding="utf-8")
    prefix = (
        r"\b(sk-|gh[pousr]_|github_pat_|glpat-|xox[a-z]-|AKIA|AIza|hf_|npm_|eyJ|SG\.|sk_live_|pypi-|ya29\.)"
    )
    assert re.search(prefix + r"[A-Za-z0-9]{20}", raw) is None


def test_a_fixed_seed_makes_the_same_lines() -> None:
    assert read("secrets", 7) == read("secrets", 7)
    assert read("secrets", 7) != read("secrets", 8)
