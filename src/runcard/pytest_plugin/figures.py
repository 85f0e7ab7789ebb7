"""Calls, tokens and cost of a test as plain data, and their totals.

A cost that may be too low is null: `known_cost_usd` is the known part of it, and `at_least` says that there is or may be
more. `incomplete` says why calls, or parts of them, are missing.
"""

from collections.abc import Iterable, Sequence

from runcard.documents.exact_sums import exact_sum, plain_number
from runcard.documents.run.call_totals import distinct_calls
from runcard.documents.run.events import MODEL_CALLED
from runcard.documents.run.fields import known_cost, model_breakdown
from runcard.documents.run.fold import fold_events
from runcard.documents.token_sources import weakest_source
from runcard.encoding import JsonObject
from runcard.observe.clock import Clock
from runcard.recording.start_document import start_document, start_settings

_CUT = "a reply was cut off, or was not read to its end"


def figures_of(lines: Sequence[JsonObject]) -> JsonObject:
    """The figures of these events of a journal."""
    start, _ = start_document(Clock(), None, None, start_settings(), None, keep_secrets=True)
    document = fold_events(start, lines)
    costs, usage = document["costs"], document["token_usage"]
    called = [line["payload"] for line in lines if line["event"] == MODEL_CALLED]
    calls = sum(not call.get("part") for call in distinct_calls(called))
    reasons = [row["reason"] for row in usage.get("incomplete", ())]
    sources = {call.get("token_source") for call in called}
    reasons += [_CUT] if "partial" in sources else []
    cost = None if reasons else costs["total_cost_usd"]
    has_counts = None not in (costs["input_tokens"], costs["output_tokens"])
    models = model_breakdown(document)
    return {
        "calls": calls,
        "failed_calls": sum(row["calls"] for row in usage.get("failed_calls", ())),
        "tokens": {
            "input": costs["input_tokens"],
            "output": costs["output_tokens"],
            "cache_read": costs.get("cache_read_tokens"),
            "cache_write": costs.get("cache_write_tokens"),
            "reasoning": costs.get("reasoning_tokens"),
        },
        "token_source": costs.get("token_source"),
        "cost_usd": cost,
        "known_cost_usd": known_cost(document),
        "cost_source": costs.get("cost_source"),
        "at_least": bool(reasons) or (calls > 0 and (cost is None or not has_counts)),
        "estimated": "estimated" in sources,
        "incomplete": reasons,
        "models": [row["model"] for row in models if row.get("model")],
        "unpriced": [row.get("model") or "a model" for row in models if row.get("cost_usd") is None],
    }


def total_figures(tests: Sequence[JsonObject]) -> JsonObject:
    """The totals of all tests; unknown where one of them is."""
    called = [test for test in tests if test["calls"] or test["incomplete"]]
    known = [test["known_cost_usd"] for test in called if test["known_cost_usd"] is not None]
    is_known = all(test["cost_usd"] is not None for test in called)
    amount = plain_number(exact_sum(known)) if known else None
    return {
        "tests": len(tests),
        "calls": sum(test["calls"] for test in tests),
        "failed_calls": sum(test["failed_calls"] for test in tests),
        "tokens": {
            name: _sum(test["tokens"][name] for test in called)
            for name in ("input", "output", "cache_read", "cache_write", "reasoning")
        },
        "token_source": weakest_source(test["token_source"] for test in called) if called else None,
        "cost_usd": amount if is_known else None,
        "known_cost_usd": amount,
        "at_least": any(test["at_least"] for test in called),
        "estimated": any(test["estimated"] for test in called),
    }


def _sum(counts: Iterable[int | None]) -> int | None:
    total = 0
    is_empty = True
    for count in counts:
        if count is None:
            return None
        total, is_empty = total + count, False
    return None if is_empty else total
