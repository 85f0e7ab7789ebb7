"""The corpus of classes: one line for each kind of secret in `corpus/secrets`, and for each kind of innocent text.

A line is `class | text`. `«…»` marks the secret, `{{a:36}}` stands for 36 random characters, `⏎` for a line break, `␛` for an
escape character and `\\|` for `|`. No complete key is in the files, so no scanner for leaked keys stops them.
"""

import re
from pathlib import Path
from random import Random
from typing import NamedTuple

from masking.corpus_lines import HERE, fill_in

_PIECE = 8  # a secret is leaked when this many characters of it in a row are left


class Sample(NamedTuple):
    """One line of the corpus, filled in."""

    label: str
    text: str
    secrets: list[str]

    def leaks(self, shown: str) -> list[str]:
        """The pieces of the secrets that are still in `shown`."""
        return [piece for secret in self.secrets for piece in _pieces(secret) if piece in shown]


def read_samples(folder: str, seed: int = 1) -> list[Sample]:
    return [sample for samples in read_files(folder, seed).values() for sample in samples]


def read_files(folder: str, seed: int = 1) -> dict[str, list[Sample]]:
    """The samples of each file, by its name without `.txt`."""
    random = Random(seed)  # noqa: S311
    files = sorted((HERE / folder).glob("*.txt"))
    return {file.stem: [_sample(line, random) for line in _lines(file)] for file in files}


def _lines(file: Path) -> list[str]:
    return [line for line in file.read_text(encoding="utf-8").splitlines() if line]


def _sample(line: str, random: Random) -> Sample:
    label, _, text = line.partition(" | ")
    text = fill_in(text.replace("⏎", "\n").replace("␛", "\x1b").replace("\\|", "|"), random)
    return Sample(label, re.sub("[«»]", "", text), re.findall("«(.*?)»", text, re.DOTALL))


def _pieces(secret: str) -> list[str]:
    last = max(1, len(secret) - _PIECE + 1)
    return [secret[at : at + _PIECE] for at in range(last)]
