"""The generation document: a run's metadata.json, and the rules for its fields."""

from collections.abc import Iterator

from runcard.documents.document import Document
from runcard.documents.exact_sums import all_known, exact_sum, money_agrees, whole_sum
from runcard.documents.findings import Finding, display_value, finding
from runcard.documents.kinds import GENERATION
from runcard.documents.run.config_digest import config_digest
from runcard.documents.run.fields import RunProperties
from runcard.documents.times import parse_time
from runcard.documents.token_sources import TOKEN_SOURCES, weakest_source
from runcard.encoding import JsonObject

Findings = Iterator[Finding]

# In a summary of times, what may not be above what; `calls` is the number of all calls.
_AT_MOST = {"p50": "p95", "p95": "max", "mean": "max", "count": "calls"}


class Generation(RunProperties, Document):
    """The document of one run."""

    __slots__ = ()
    kind = GENERATION
    cost_path = ("costs", "total_cost_usd")

    @property
    def model(self) -> str | None:
        model: str | None = self._data["configuration"].get("model")
        return model

    @staticmethod
    def rules(document: JsonObject) -> Findings:
        yield from _times(document.get("generation") or {})
        yield from _configuration(document)
        yield from _inputs(document.get("data_sources") or {})
        yield from _costs(document.get("costs") or {})
        yield from _performance(document.get("performance") or {})
        yield from _metrics(document.get("metrics") or {})
        yield from _usage(document.get("token_usage") or {}, document.get("costs") or {})


def _times(generation: JsonObject) -> Findings:
    start, end = parse_time(generation.get("timestamp_start")), parse_time(generation.get("timestamp_end"))
    duration = generation.get("duration_seconds")
    if start and end:
        if end < start:
            yield finding(
                "time.order",
                "/generation/timestamp_end",
                f"ended at {generation['timestamp_end']}, before it started at {generation['timestamp_start']}",
                hint="correct the wrong one, or swap the two",
                found=generation["timestamp_end"],
            )
        elif duration is not None and not _is_close((end - start).total_seconds(), duration):
            seconds = (end - start).total_seconds()
            yield finding(
                "time.duration",
                "/generation/duration_seconds",
                f"{display_value(duration)} seconds are stated; from start to end it is {seconds:g}",
                hint="correct one of the three, unless the clock was set during the run",
                expected=seconds,
                found=duration,
            )
    if generation.get("status") == "running":
        yield finding(
            "status.running",
            "/generation/status",
            "the run is not closed",
            hint="wait for it to end; if its process is gone, run `runcard close`",
            found="running",
        )


def _is_close(measured: float, stated: float) -> bool:
    return -1 <= measured - stated <= 1 if abs(stated) < 1e15 else False


def _configuration(document: JsonObject) -> Findings:
    configuration = document.get("configuration")
    if configuration is None:
        return
    for field in ("model", "provider"):
        if field not in configuration:
            yield finding(
                "expected.absent",
                "/configuration",
                f"the configuration does not say which {field} was used",
                hint=f'add "{field}", or null if it is not known',
                expected=field,
            )
    stated = (document.get("checksums") or {}).get("config")
    if stated is not None and stated != (actual := config_digest(configuration)):
        yield finding(
            "digest.config",
            "/checksums/config",
            "the digest does not match the configuration: one of the two was changed",
            hint="it is the SHA-256 of the canonical JSON (RFC 8785) of `configuration`",
            expected=actual,
            found=stated,
        )


def _inputs(sources: JsonObject) -> Findings:
    files = sources.get("files")
    if files is None:
        return
    known = [file for file in files if isinstance(file, dict)]
    checks = [("total_files", len(files), "files are listed", "count.files")]
    for total, field, rule in (
        ("total_bytes", "bytes", "count.files"),
        ("total_tokens", "tokens", "sum.tokens"),
    ):
        parts = all_known(file.get(field) for file in known)
        if files and len(known) == len(files) and parts is not None:
            checks.append((total, whole_sum(parts), f"{field} are listed", rule))
    for total, actual, what, rule in checks:
        if sources.get(total) is not None and sources[total] != actual:
            yield finding(
                rule,
                f"/data_sources/{total}",
                f"{total} is {display_value(sources[total])}, but {display_value(actual)} {what}",
                hint=f"write {display_value(actual)}, or correct the list",
                expected=actual,
                found=sources[total],
            )
    yield from _total_source("/data_sources/token_source", sources, known)


def _total_source(pointer: str, total: JsonObject, parts: list[JsonObject]) -> Findings:
    stated = total.get("token_source")
    sources = [part.get("token_source") for part in parts if part.get("tokens") is not None]
    if stated is None or not sources:
        return
    weakest = weakest_source(sources)
    if TOKEN_SOURCES.index(stated) < TOKEN_SOURCES.index(weakest):
        yield finding(
            "source.tokens",
            pointer,
            f"token_source is {display_value(stated)}, but that of a part is {weakest or 'unknown'}",
            hint="use the least reliable source of the parts",
            expected=weakest,
            found=stated,
        )


def _costs(costs: JsonObject) -> Findings:
    if (
        costs.get("cost_source") == "priced"
        and costs.get("total_cost_usd") is not None
        and not costs.get("price_rows")
    ):
        yield finding(
            "source.cost",
            "/costs/price_rows",
            "cost_source is 'priced', but there are no price_rows",
            hint='add price_rows, or write "cost_source": "given"',
        )
    yield from _known_cost(costs)
    cached = [costs.get(field) for field in ("cache_read_tokens", "cache_write_tokens")]
    total = costs.get("input_tokens")
    known = whole_sum(part for part in cached if part is not None)
    if total is not None and known > total:
        yield finding(
            "sum.tokens",
            "/costs/input_tokens",
            f"{display_value(total)} input tokens are stated, but {display_value(known)} of them were cached",
            hint="count all input in input_tokens, cached or not",
            expected=f">= {display_value(known)}",
            found=total,
        )


def _known_cost(costs: JsonObject) -> Findings:
    total, known = costs.get("total_cost_usd"), costs.get("known_cost_usd")
    if total is not None and known is not None and not money_agrees([known], total):
        yield finding(
            "sum.cost",
            "/costs/known_cost_usd",
            f"known_cost_usd is {display_value(known)}, but total_cost_usd is {display_value(total)}",
            hint="remove known_cost_usd: it is for an unknown total",
            expected=total,
            found=known,
        )


def _known_parts(breakdown: str, parts: list[JsonObject], costs: JsonObject) -> Findings:
    """What is known of the parts is a part of what is known of the whole."""
    total = costs.get("total_cost_usd")
    whole = costs.get("known_cost_usd") if total is None else total
    amounts = [
        part.get("known_cost_usd") if part.get("cost_usd") is None else part["cost_usd"] for part in parts
    ]
    known = [amount for amount in amounts if amount is not None]
    is_known = all_known(part.get("cost_usd") for part in parts) is not None
    if whole is None or (is_known and total is not None) or money_agrees(known, whole, at_least=True):
        return
    yield finding(
        "sum.cost",
        f"/token_usage/{breakdown}",
        f"the known parts cost {display_value(exact_sum(known))}, more than the {display_value(whole)} of the whole",
        hint="correct one of the two",
        expected=f"<= {display_value(whole)}",
    )


def _performance(section: JsonObject) -> Findings:
    for name in ("latency_seconds", "time_to_first_token_seconds"):
        times = section.get(name) or {}
        for low, high in _AT_MOST.items():
            below, above = times.get(low), {**section, **times}.get(high)
            if below is not None and above is not None and below > above:
                yield finding(
                    "time.summary",
                    f"/performance/{name}/{low}",
                    f"{low} is {display_value(below)}, above {high}, which is {display_value(above)}",
                    hint="correct one of the two",
                    expected=f"<= {display_value(above)}",
                    found=below,
                )


def _metrics(section: JsonObject) -> Findings:
    if section:
        from runcard.documents.run.metrics import metric_rules  # noqa: PLC0415 - most runs have none

        yield from metric_rules(section)


def _usage(usage: JsonObject, costs: JsonObject) -> Findings:
    inputs, outputs = usage.get("total_input_tokens"), usage.get("total_output_tokens")
    if inputs is not None and outputs is not None:
        yield from _equal(
            "/token_usage/total_tokens", usage.get("total_tokens"), whole_sum((inputs, outputs))
        )
    yield from _equal("/token_usage/total_input_tokens", inputs, costs.get("input_tokens"))
    yield from _equal("/token_usage/total_output_tokens", outputs, costs.get("output_tokens"))
    for breakdown in ("breakdown_by_step", "breakdown_by_model"):
        parts = [part or {} for part in usage.get(breakdown) or ()]
        for field, total in (("input", inputs), ("output", outputs)):
            counts = all_known(part.get(field) for part in parts)
            if parts and counts is not None:
                yield from _equal(f"/token_usage/{breakdown}", total, whole_sum(counts), field)
        yield from _known_parts(breakdown, parts, costs)
        amounts = all_known(part.get("cost_usd") for part in parts)
        stated = costs.get("total_cost_usd")
        if parts and amounts is not None and stated is not None and not money_agrees(amounts, stated):
            yield finding(
                "sum.cost",
                f"/token_usage/{breakdown}",
                f"the parts cost {display_value(exact_sum(amounts))}, total_cost_usd is {display_value(stated)}",
                hint="correct one of the two",
                expected=stated,
            )


def _equal(pointer: str, stated: int | None, actual: int | None, what: str = "tokens") -> Findings:
    if stated is not None and actual is not None and stated != actual:
        yield finding(
            "sum.tokens",
            pointer,
            f"{display_value(stated)} {what} are stated, {display_value(actual)} add up",
            hint="correct one of the two",
            expected=actual,
            found=stated,
        )
