"""Write vectors/documents.json: what a validator must find in each document of tests/corpus, by its path and name."""  # noqa: INP001

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runcard.documents.findings import RULES, Severity

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT / "tests" / "corpus"
MANIFEST = ROOT / "vectors" / "documents.json"


def entry(path: Path) -> dict[str, Any]:
    """What a document is, and what must be found in it. Rules that may be found besides are not listed."""
    folder, *_ = path.relative_to(CORPUS).parts
    name = path.stem.partition("--")[0]
    rules = {
        "valid": [],
        "invalid": name.split("+"),
        "warnings": name.split("+"),
        "legacy": ["version.older"],
        "future": [f"version.newer-{name}"],
    }[folder]
    errors = [rule for rule in rules if RULES[rule][0] is Severity.ERROR]
    kind, version = _kind_and_version(folder, path)
    return {
        "path": path.relative_to(ROOT).as_posix(),
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "kind": kind,
        "version": version,
        "valid": not errors,
        "errors": sorted(errors),
        "warnings": sorted(set(rules) - set(errors)),
    }


def _kind_and_version(folder: str, path: Path) -> tuple[str | None, str | None]:
    """As the path says; where it does not say, None."""
    text = {"valid": path.parent.name, "future": path.stem.partition("--")[2]}.get(folder, "")
    kind, _, version = text.rpartition("-")
    return kind or None, version or None


def manifest() -> str:
    documents = sorted(_documents())
    data = {"format": 1, "licence": "Apache-2.0", "documents": [entry(path) for path in documents]}
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _documents() -> Iterator[Path]:
    for suffix in ("json", "yml"):
        yield from CORPUS.rglob(f"*.{suffix}")


if __name__ == "__main__":
    MANIFEST.write_text(manifest())
