"""The documents of the corpus, to be looked at or damaged."""

from pathlib import Path
from typing import Any

from runcard.encoding import decode_json

CORPUS = Path(__file__).parent.parent / "corpus"

Fields = dict[str, Any]


def files(folder: str) -> list[Path]:
    found = sorted((CORPUS / folder).rglob("*.json"))
    assert found, f"the corpus has no {folder}"
    return found


def data(path: str) -> Any:
    """What a file of the corpus says; new data with every call."""
    return decode_json((CORPUS / f"{path}.json").read_bytes())


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
    found: Fields = data("valid/instance-2.0.0/every-addition")
    return found


def manifest() -> Fields:
    found: Fields = data("valid/manifest-1.0.0/specification")
    return found


def archive_index() -> Fields:
    found: Fields = data("valid/archive-index-1.0.0/specification")
    return found


def at(value: Any, pointer: str) -> Any:
    """The value that a pointer names; raises LookupError when there is none."""
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list):
            value = value[int(key)]
        elif isinstance(value, dict):
            value = value[key]
        else:
            raise LookupError(pointer)
    return value


def put(value: Any, pointer: str, new: object) -> None:
    parent, _, key = pointer.rpartition("/")
    container = at(value, parent)
    container[int(key) if isinstance(container, list) else key] = new


def team_of(members: dict[str, str | None], **fields: Any) -> Fields:
    """A team of these instances, each with its parent, whose sums all agree."""
    first = team()["instances"][0]
    parents = list(members.values())
    instances = [
        first | {"instance_id": name, "parent_instance_id": parent, "children_count": parents.count(name)}
        if len(members) < 1000
        else first | {"instance_id": name, "parent_instance_id": parent, "children_count": 1}
        for name, parent in members.items()
    ]
    for one in instances:
        one |= {"tokens_used": 1, "cost": 0.5} | fields
    return {
        "version": "2.0.0",
        "created_at": "2025-11-06T14:32:45Z",
        "team_session_id": "team",
        "total_instances": len(instances),
        "instances": instances,
        "execution_summary": {"total_tokens": len(instances), "total_cost": 0.5 * len(instances)},
    }
