"""What the writers of this layer read: one closed record, as plain data."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from runcard.documents.run.fields import model_breakdown
from runcard.documents.signed_statement import SignedState
from runcard.documents.times import format_time_ms, parse_time
from runcard.encoding import JsonObject
from runcard.files import json_name

RUN, SESSION = "run", "session"

_UNKNOWN_MODEL = "unknown"  # what a session has instead of a model that is not known
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class RecordFile(NamedTuple):
    """A file of a record, as it is now: one that was withheld is not among them."""

    path: str  # as the file system has it
    size: int
    sha256: str
    is_output: bool  # made by the run or an agent, not by runcard

    @property
    def text(self) -> str:
        """Its path as documents have it."""
        return json_name(self.path).text


class ModelName(NamedTuple):
    """A model, and who sells it as far as that is known."""

    name: str
    provider: str | None

    @property
    def key(self) -> str:
        return f"{self.provider}/{self.name}" if self.provider else self.name


class UsageFigures(NamedTuple):
    """What a record, an agent or a call used and cost; None: not known."""

    input_tokens: int | None = None  # all input, cached or not
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    total_tokens: int | None = None
    cost_usd: float | None = None
    known_cost_usd: float | None = None  # of a cost that is not known as a whole

    def known_figures(self) -> JsonObject:
        """The figures that are known, by name."""
        return {name: value for name, value in self._asdict().items() if value is not None}


class SealedRecord(NamedTuple):
    """The record as it was closed, and its entry in the ledger of its store."""

    state: SignedState
    ledger: JsonObject | None


class RecordContent(NamedTuple):
    """A closed record."""

    kind: str
    id: str
    name: str  # of its directory
    document: JsonObject
    metadata: RecordFile  # the metadata document
    files: tuple[RecordFile, ...]  # the others
    instances: Mapping[str, JsonObject] = {}  # the documents of the agents, by id
    sealed: SealedRecord | None = None  # as a signature would cover it
    calls: tuple[JsonObject, ...] = ()  # each once, as in the journal, with `timestamp` and `instance_id`

    @property
    def is_run(self) -> bool:
        return self.kind == RUN

    @property
    def outputs(self) -> list[RecordFile]:
        return [file for file in self.files if file.is_output]

    @property
    def agents(self) -> list[JsonObject]:
        """The agents of a session, as the team document lists them, with the fields of their own documents."""
        entries = [entry for entry in items(self.document.get("instances")) if text(entry.get("instance_id"))]
        return [{**self.instances.get(entry["instance_id"], {}), **entry} for entry in entries]

    @property
    def started(self) -> datetime | None:
        return moment(self._times[0])

    @property
    def ended(self) -> datetime | None:
        return moment(self._times[1])

    @property
    def _times(self) -> tuple[object, object]:
        if self.is_run:
            generation = section(self.document, "generation")
            return generation.get("timestamp_start"), generation.get("timestamp_end")
        summary = section(self.document, "execution_summary")
        return summary.get("execution_start"), summary.get("execution_end")

    @property
    def status(self) -> str | None:
        """`completed`, `failed` or `interrupted`, as far as it is known."""
        if self.is_run:
            return text(section(self.document, "generation").get("status"))
        failed = section(self.document, "execution_summary").get("failed_instances")
        return None if failed is None else "completed" if failed == 0 else "failed"

    @property
    def error(self) -> str | None:
        """The first error that the document names."""
        for entry in self.document.get("errors") or ():
            message = entry.get("message") if isinstance(entry, dict) else entry
            if text(message):
                return str(message)
        return None

    @property
    def title(self) -> str:
        """A name for people."""
        own = self.id if self.id.startswith(f"{self.kind}-") else f"{self.kind} {self.id}"
        return f"{self.experiment}: {own}" if self.experiment else own

    @property
    def experiment(self) -> str | None:
        return text(section(self.document, "generation").get("experiment_name"))

    @property
    def usage(self) -> UsageFigures:
        """What the whole record used."""
        if not self.is_run:
            summary = section(self.document, "execution_summary")
            tokens = section(section(self.document, "resources"), "tokens")
            figures = _classes(tokens)
            return figures._replace(
                total_tokens=count(summary.get("total_tokens")),
                **_costs(summary.get("total_cost"), summary.get("known_cost")),
            )
        costs = section(self.document, "costs")
        return UsageFigures(
            input_tokens=count(costs.get("input_tokens")),
            output_tokens=count(costs.get("output_tokens")),
            cache_read_tokens=count(costs.get("cache_read_tokens")),
            cache_write_tokens=count(costs.get("cache_write_tokens")),
            reasoning_tokens=count(costs.get("reasoning_tokens")),
            total_tokens=count(section(self.document, "token_usage").get("total_tokens")),
            **_costs(costs.get("total_cost_usd"), costs.get("known_cost_usd")),
        )

    @property
    def models(self) -> list[ModelName]:
        """The models that were used, each once."""
        found = self._run_models() if self.is_run else self._session_models()
        return list(dict.fromkeys(found))

    def _run_models(self) -> Iterator[ModelName]:
        configuration = section(self.document, "configuration")
        given, provider = text(configuration.get("model")), text(configuration.get("provider"))
        providers = {text(call.get("model")): text(call.get("provider")) for call in self.calls}
        names = [name for part in model_breakdown(self.document) if (name := text(part.get("model")))]
        for name in names or ([given] if given else []):
            yield ModelName(name, providers.get(name) or (provider if name == given else None))

    def _session_models(self) -> Iterator[ModelName]:
        for agent in self.agents:
            yield from agent_models(agent)


def agent_models(agent: JsonObject) -> list[ModelName]:
    """The models that an agent used."""
    parts = [
        ModelName(name, text(part.get("provider")))
        for part in items(agent.get("models"))
        if (name := text(part.get("model")))
    ]
    name = text(agent.get("model"))
    if parts or name is None or name == _UNKNOWN_MODEL:
        return parts
    return [ModelName(name, text(agent.get("provider")))]


def agent_usage(agent: JsonObject) -> UsageFigures:
    """What an agent used."""
    figures = _classes(section(agent, "tokens"))
    total = count(agent.get("tokens_used"))
    return figures._replace(total_tokens=total, **_costs(agent.get("cost"), agent.get("known_cost")))


def call_usage(call: JsonObject) -> UsageFigures:
    """What a model call used."""
    tokens = section(call, "tokens")
    written = [count(tokens.get(name)) for name in ("cache_write_5m", "cache_write_1h")]
    known = [tokens_written for tokens_written in written if tokens_written is not None]
    figures = _classes(tokens)
    if known:
        figures = figures._replace(cache_write_tokens=sum(known))
    return figures._replace(**_costs(call.get("cost_usd"), call.get("known_cost_usd")))


def _classes(tokens: JsonObject) -> UsageFigures:
    names = ("input", "output", "cache_read", "cache_write", "reasoning")
    return UsageFigures(*(count(tokens.get(name)) for name in names))


def _costs(cost: object, known: object) -> dict[str, Any]:
    return {"cost_usd": amount(cost), "known_cost_usd": amount(known) if cost is None else None}


def section(document: JsonObject, name: str) -> JsonObject:
    """An object of a document; empty if it has none."""
    value = document.get(name)
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[JsonObject]:
    """The objects of a list; none if it is not a list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def text(value: object) -> str | None:
    """A text that is not empty, else None."""
    return value if isinstance(value, str) and value else None


def count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def amount(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def moment(value: object) -> datetime | None:
    """A time in UTC; None if it is not known, or out of range."""
    parsed = parse_time(value) if isinstance(value, str) else None
    try:
        return parsed and parsed.astimezone(UTC)
    except OverflowError:
        return None


def time_text(value: datetime | None) -> str | None:
    """A time as the formats have it: UTC with Z."""
    return None if value is None else format_time_ms(value)


def nanoseconds(value: datetime) -> int:
    """The nanoseconds since 1970."""
    since = value - _EPOCH
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1000


def without_none(fields: JsonObject) -> JsonObject:
    """The fields that are known."""
    return {name: value for name, value in fields.items() if value is not None}
