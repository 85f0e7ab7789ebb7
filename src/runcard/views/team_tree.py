"""A team as a tree: who started whom."""

from collections.abc import Iterator, Sequence

from runcard.encoding import JsonObject

_BELOW = {"": "", "├── ": "│   ", "└── ": "    "}
_MAX_WIDTH = 4 * 50  # columns of the lines that lead to an instance; of longer ones the beginning is cut


def branches(instances: Sequence[JsonObject]) -> Iterator[tuple[str, JsonObject]]:
    """Each instance below its parent, with the lines that lead to it; works without recursion."""
    children: dict[str | None, list[JsonObject]] = {}
    for entry in instances:
        children.setdefault(entry.get("parent_instance_id"), []).append(entry)
    stack = [(root, "", "") for root in reversed(children.get(None, []))]
    while stack:
        entry, before, branch = stack.pop()
        yield before + branch, entry
        members = children.get(entry["instance_id"], [])
        signs = ["├── "] * (len(members) - 1) + ["└── "] * bool(members)
        below = before + _BELOW[branch]
        below = f"…{below[1 - _MAX_WIDTH :]}" if len(below) > _MAX_WIDTH else below
        stack += reversed([(member, below, sign) for member, sign in zip(members, signs, strict=True)])
