"""Keep a run's document below the size limit of readers.

A journal may be of any size, its document may not. Texts are cut first, then lists: errors and warnings, the
configuration, and at last inputs and links. Counts and costs are never cut: rows of a breakdown are added up instead. A
warning in the document says what was cut; the journal still has it.

Everything here is pure: the same journal is always cut in the same way.
"""

from collections.abc import Callable, Iterator
from functools import partial

from runcard.documents.exact_sums import all_known, exact_sum, plain_number
from runcard.encoding import JsonObject, encode_json
from runcard.encoding.shorten import shortened

MOST = 32 << 20  # bytes; half of what is read by default
TRUNCATED = "truncated"  # the type of the warning

_ROWS = 1_000
_Cut = Callable[[JsonObject], JsonObject]


def is_too_large(data: bytes) -> bool:
    """Whether an encoded document is too large."""
    return len(data) > MOST


def cut_to_limit(document: JsonObject) -> tuple[JsonObject, str | None]:
    """The document, cut until it is small enough, and a description of what was cut."""
    descriptions = []
    for description, cut in _cuts():
        if not is_too_large(encode_json(document)):
            break
        smaller = cut(document)
        if smaller != document:
            document = smaller
            descriptions.append(description)
    return document, ", ".join(descriptions) or None


def _cuts() -> Iterator[tuple[str, _Cut]]:
    """The possible cuts, in this order. Verification compares the descriptions: the wording must not change."""
    for text in (65_536, 4_096, 1_024):
        yield f"texts to {text:,} characters", partial(_with_short_texts, text)
    for most in (10_000, 1_000):
        for name in ("errors", "warnings", "relations", "redactions"):
            yield f"{name} to the first {most:,}", partial(_with_shorter_list, name, most)
    yield f"metrics to the first {_ROWS:,}", _with_fewer_metrics
    for most in (1_000, 100, 10):
        for name in ("configuration", "environment", "generation"):
            yield f"lists and objects in {name} to {most:,} members", partial(_with_less_in, name, most)
    yield f"breakdowns to {_ROWS:,} rows and the sum of the others", _with_fewer_rows
    for most in (50_000, 10_000, 1_000):
        yield f"inputs to the first {most:,}", partial(_with_fewer_inputs, most)
        yield f"symlinks to the first {most:,}", partial(_with_shorter_list, "symlinks", most)
    yield "the configuration to model and provider", _without_configuration


def _with_short_texts(most: int, document: JsonObject) -> JsonObject:
    return shortened(document, most)


def _with_shorter_list(name: str, most: int, document: JsonObject) -> JsonObject:
    return document | {name: document[name][:most]}


def _with_less_in(name: str, most: int, document: JsonObject) -> JsonObject:
    """Cut the containers in a section; the configuration, which is the user's, counts as one of them."""
    if name == "configuration":
        return document | shortened({name: document[name]}, 1_024, most)
    return document | {name: shortened(document[name], 1_024, most)}


def _without_configuration(document: JsonObject) -> JsonObject:
    kept = {name: document["configuration"].get(name) for name in ("model", "provider")}
    return document | {"configuration": kept}


def _with_fewer_inputs(most: int, document: JsonObject) -> JsonObject:
    sources = document["data_sources"]
    return document | {"data_sources": sources | {"files": sources["files"][:most]}}


def _with_fewer_metrics(document: JsonObject) -> JsonObject:
    if "metrics" not in document:
        return document
    return document | {"metrics": dict(list(document["metrics"].items())[:_ROWS])}


def _with_fewer_rows(document: JsonObject) -> JsonObject:
    usage = dict(document["token_usage"])
    for by in ("step", "model"):
        usage[f"breakdown_by_{by}"] = _with_rest_added_up(usage[f"breakdown_by_{by}"], by)
    return document | {"token_usage": usage}


def _with_rest_added_up(rows: list[JsonObject], by: str) -> list[JsonObject]:
    rest = rows[_ROWS:]
    if not rest:
        return rows
    costs = all_known(row["cost_usd"] for row in rest)
    other: JsonObject = {by: f"({len(rest):,} others)", "calls": sum(row["calls"] for row in rest)}
    for name in ("input", "output"):
        known = all_known(row[name] for row in rest)
        other[name] = sum(known) if known else None
    other["cost_usd"] = plain_number(exact_sum(costs)) if costs else None
    known = [row.get("known_cost_usd", row["cost_usd"]) for row in rest]
    if costs is None and (amounts := [amount for amount in known if amount is not None]):
        other["known_cost_usd"] = plain_number(exact_sum(amounts))
    sources = {row["token_source"] for row in rest}
    other["token_source"] = sources.pop() if len(sources) == 1 else None
    return [*rows[:_ROWS], other]
