"""The documents of the corpus, to be looked at or damaged."""

import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

from runcard.documents.kinds import KINDS
from runcard.documents.reader import model_of
from runcard.encoding import decode_json
from runcard.encoding.yaml import decode_yaml

CORPUS = Path(__file__).parent.parent / "corpus"

Fields = dict[str, Any]

MODELS = {kind: model_of(kind) for kind in KINDS}


def files(folder: str, *suffixes: str) -> list[Path]:
    """The files of a folder of the corpus: those in JSON, unless others are asked for."""
    found = sorted(
        path for suffix in suffixes or (".json",) for path in (CORPUS / folder).rglob(f"*{suffix}")
    )
    assert found, f"the corpus has no {folder}"
    return found


def every_file(folder: str = "") -> list[Path]:
    return files(folder, ".json", ".yml")


def is_yaml(path: Path) -> bool:
    return path.suffix == ".yml"


def decoded(path: Path) -> Any:
    """What a file says; new data with every call."""
    return (decode_yaml if is_yaml(path) else decode_json)(path.read_bytes())


def data(path: str) -> Any:
    """What a file of the corpus says; new data with every call."""
    return decode_json((CORPUS / f"{path}.json").read_bytes())


def plan() -> Fields:
    found: Fields = decoded(CORPUS / "valid/testplan-1.3/plain.yml")
    return found


def rich_plan() -> Fields:
    found: Fields = decoded(CORPUS / "valid/testplan-2.0/every-addition.yml")
    return found


def run() -> Fields:
    found: Fields = data("valid/generation-1.0/specification")
    return found


def closed_run() -> Fields:
    found: Fields = data("valid/generation-1.0/closed-run")
    return found


def team() -> Fields:
    found: Fields = data("valid/team-1.0.0/specification")
    return found


def rich_team() -> Fields:
    found: Fields = data("valid/team-2.0.0/every-addition")
    return found


def instance() -> Fields:
    found: Fields = data("valid/instance-1.0.0/specification")
    return found


def rich_instance() -> Fields:
    found: Fields = data("valid/instance-2.0.0/format-version--every-addition")
    return found


def manifest() -> Fields:
    found: Fields = data("valid/manifest-1.0.0/specification")
    return found


def archive_index() -> Fields:
    found: Fields = data("valid/archive-index-1.0.0/specification")
    return found


def at(value: Any, pointer: str) -> Any:
    """The value that a pointer names."""
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        value = value[int(key) if isinstance(value, list) else key]
    return value


def put(value: Any, pointer: str, new: object) -> None:
    parent, _, key = pointer.rpartition("/")
    container = at(value, parent)
    container[int(key) if isinstance(container, list) else key] = new


_TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def is_harmless(text: str) -> bool:
    """Whether a text stays on its line and moves neither the cursor nor the direction of what follows."""
    return not any(
        unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}
        or unicodedata.bidirectional(character) in _TURNING
        for character in text
    )


def team_of(parents: dict[str, str | None]) -> Fields:
    """A team of these instances, each with its parent, whose counts and sums all agree."""
    children = Counter(parents.values())
    first = team()["instances"][0] | {"tokens_used": 1, "cost": 0.5}
    return team() | {
        "total_instances": len(parents),
        "instances": [
            first | {"instance_id": name, "parent_instance_id": parent, "children_count": children[name]}
            for name, parent in parents.items()
        ],
        "execution_summary": {"total_tokens": len(parents), "total_cost": 0.5 * len(parents)},
    }
