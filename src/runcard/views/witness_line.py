"""A comparison with a second witness, in words."""

from runcard.encoding import JsonObject
from runcard.views.formats import counted

_SHOWN = 3  # request ids
_LISTS = {
    "only_reported": "only in its telemetry",
    "only_metered": "only metered",
    "differing": "with other token counts",
}


def witness_line(document: JsonObject) -> str | None:
    """`3 calls agree with the telemetry of Claude Code; 1 only metered: req_1`; None if there was no comparison."""
    section = document.get("witness") or {}
    if not section:
        return None
    agreeing = section.get("agreeing") or 0
    verb = "agrees" if agreeing == 1 else "agree"
    parts = [f"{counted(agreeing, 'call')} {verb} with the telemetry of Claude Code"]
    for name, words in _LISTS.items():
        ids = [str(some_id) for some_id in section.get(name) or ()]
        if ids:
            shown = ", ".join([*ids[:_SHOWN], "…"] if len(ids) > _SHOWN else ids)
            parts.append(f"{len(ids):,} {words}: {shown}")
    if section.get("without_id"):
        parts.append(f"{section['without_id']:,} without a request id")
    return "; ".join(parts)
