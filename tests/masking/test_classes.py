"""How many classes of secrets masking finds, and how many kinds of innocent text it leaves alone."""

import pytest

from masking.corpus_classes import Sample, read_samples
from runcard.masking import mask_text

SEEDS = range(1, 6)
LEAST_MASKED = 0.95
MOST_WRONG = 0.02


def listed(samples: list[Sample]) -> str:
    return "\n".join(f"  {one.label}: {mask_text(one.text).value[:160]!r}" for one in samples)


@pytest.mark.parametrize("seed", SEEDS)
def test_nearly_all_classes_of_secrets_are_masked(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    samples = read_samples("secrets", seed)
    missed = [one for one in samples if one.leaks(mask_text(one.text).value)]
    recall = 1 - len(missed) / len(samples)
    with capsys.disabled():
        print(f"\nseed {seed}: {recall:.1%} of {len(samples)} secrets masked; missed:\n{listed(missed)}")  # noqa: T201
    assert recall >= LEAST_MASKED, listed(missed)


@pytest.mark.parametrize("seed", SEEDS)
def test_innocent_texts_stay(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    samples = read_samples("innocents", seed)
    wrong = [one for one in samples if mask_text(one.text).counts]
    share = len(wrong) / len(samples)
    with capsys.disabled():
        print(f"\nseed {seed}: {share:.1%} of {len(samples)} innocent texts masked:\n{listed(wrong)}")  # noqa: T201
    assert share <= MOST_WRONG, listed(wrong)


def test_the_corpus_is_large_and_each_secret_has_a_class_of_its_own() -> None:
    secrets, innocents = read_samples("secrets"), read_samples("innocents")
    assert len({one.label for one in secrets}) == len(secrets) >= 226
    assert len({one.label for one in innocents}) == len(innocents) >= 158
    assert all(one.secrets for one in secrets)
    assert not any(one.secrets for one in innocents)


@pytest.mark.parametrize("folder", ["secrets", "innocents"])
def test_masking_a_sample_twice_changes_nothing_more(folder: str) -> None:
    for one in read_samples(folder):
        once = mask_text(one.text).value
        assert mask_text(once) == (once, {}), one.label
