"""A team as a tree: who started whom."""

from collections.abc import Iterator, Sequence

from runcard.encoding import JsonObject

_BELOW = {"": "", "├── ": "│   ", "└── ": "    "}
_WIDEST = 4 * 50  # columns of the lines that lead to an instance; of deeper ones the beginning is cut


def branches(instances: Sequence[JsonObject]) -> Iterator[tuple[str, JsonObject]]:
    """Each instance below the one that started it, with the lines that lead to it; deep trees cost no recursion."""
    children: dict[str | None, list[JsonObject]] = {}
    for entry in instances:
        children.setdefault(entry.get("parent_instance_id"), []).append(entry)
    work = [(root, "", "") for root in reversed(children.get(None, []))]
    while work:
        entry, before, branch = work.pop()
        yield before + branch, entry
        members = children.get(entry["instance_id"], [])
        signs = ["├── "] * (len(members) - 1) + ["└── "] * bool(members)
        below = before + _BELOW[branch]
        below = f"…{below[1 - _WIDEST :]}" if len(below) > _WIDEST else below
        work += reversed([(member, below, sign) for member, sign in zip(members, signs, strict=True)])
