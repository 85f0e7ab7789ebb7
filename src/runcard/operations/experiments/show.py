"""Summarize an experiment: its runs counted and added up. Unknown values are counted, and never taken for zero."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from runcard.catalog.database import CatalogDatabase
from runcard.catalog.experiment_sums import NOTHING_TWICE, CountedTwice, counted_twice
from runcard.catalog.filling import fill_with
from runcard.catalog.searching import dollars
from runcard.documents.exact_sums import add_exactly, exact_sum, plain_number, whole_sum
from runcard.documents.run.fields import RunFields, has_calls, known_cost, may_have_more, model_breakdown
from runcard.encoding import JsonObject
from runcard.files import printable
from runcard.masking import mask_data
from runcard.operations.checks.show import status_now
from runcard.operations.experiments.find import find
from runcard.operations.experiments.run_table import RunTable, RunTableBuilder
from runcard.settings.apply import use_masking_settings
from runcard.store import layout
from runcard.store.experiments import Experiment, id_from_name, no_experiment
from runcard.store.runs.document_so_far import document_so_far
from runcard.store.runs.documents import RunDocument, archived_runs, read_run_document, run_directories

WithProgress = Callable[[Iterable[str]], Iterable[str]]  # shows progress while it iterates

LAST = 5  # runs that `to_dict` lists one by one


class RunLine(NamedTuple):
    """One run of an experiment."""

    path: str
    run_id: str
    status: str | None  # now
    started: str | None
    duration_seconds: float | None
    models: tuple[str, ...]
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    known_cost_usd: float | None  # the cost, or the part of it that is known
    has_calls: bool | None  # whether it called models; None if its journal cannot be read
    may_have_more: bool  # calls: it is open, was killed, or not all were seen


class KnownTotal(NamedTuple):
    """The sum of what is known, and for how many runs it is unknown; runs without model calls have neither."""

    known: float | int | None  # None if it is known for no run
    unknown: int


@dataclass(frozen=True, slots=True)
class ExperimentSummary:
    """An experiment and its runs."""

    name: str
    experiment: Experiment | None  # None for one that is only a name
    experiment_id: str
    runs: tuple[RunLine, ...]  # sorted by time
    unreadable: tuple[tuple[str, str], ...]  # path and reason
    table: RunTable = field(default=RunTable())  # of the last runs
    twice: CountedTwice = NOTHING_TWICE  # what several runs have of the same calls

    @property
    def by_status(self) -> dict[str, int]:
        return dict(sorted(Counter(run.status or "unknown" for run in self.runs).items()))

    @property
    def by_model(self) -> dict[str, int]:
        """How many runs used each model."""
        return dict(Counter(model for run in self.runs for model in run.models).most_common())

    @property
    def cost(self) -> KnownTotal:
        known = [run.known_cost_usd for run in self.runs if run.known_cost_usd is not None]
        unknown = sum(run.cost_usd is None and run.has_calls is not False for run in self.runs)
        total = add_exactly(exact_sum(known), -dollars(self.twice.cost))
        return KnownTotal(plain_number(total) if known else None, unknown)

    @property
    def is_incomplete(self) -> bool:
        """Whether there may be more calls: a run is open, was killed, or not all of its calls were seen."""
        return any(run.may_have_more for run in self.runs)

    @property
    def duration(self) -> KnownTotal:
        known = [run.duration_seconds for run in self.runs if run.duration_seconds is not None]
        return KnownTotal(plain_number(exact_sum(known)) if known else None, len(self.runs) - len(known))

    def tokens(self, kind: str) -> KnownTotal:
        """The tokens of `input` or `output`."""
        known = [count for run in self.runs if (count := getattr(run, f"{kind}_tokens")) is not None]
        unknown = len(self.runs) - len(known) - self._without_calls
        twice: int = getattr(self.twice, kind)
        return KnownTotal(whole_sum(known) - twice if known else None, unknown)

    @property
    def _without_calls(self) -> int:
        return sum(run.has_calls is False for run in self.runs)

    def to_dict(self) -> JsonObject:
        use_masking_settings()
        experiment = self.experiment
        return {
            "name": self.name,
            "path": printable(experiment.path) if experiment else None,
            "experiment_id": self.experiment_id,
            "created_at": experiment.created_at if experiment else None,
            "description": experiment.description if experiment else None,
            "configuration": mask_data(experiment.config).value if experiment else None,
            "runs": len(self.runs),
            "by_status": self.by_status,
            "by_model": self.by_model,
            "input_tokens": _total(self.tokens("input")),
            "output_tokens": _total(self.tokens("output")),
            "cost_usd": _total(self.cost),
            "incomplete": self.is_incomplete,
            "duration_seconds": _total(self.duration),
            "runs_without_calls": self._without_calls,
            "last_runs": [_line(run) for run in self.runs[: -LAST - 1 : -1]],
            "unreadable": [
                {"path": printable(path), "message": printable(reason)} for path, reason in self.unreadable
            ],
        }


def _total(total: KnownTotal) -> JsonObject:
    return {"known": total.known, "runs_unknown": total.unknown}


def _line(run: RunLine) -> JsonObject:
    return run._asdict() | {"path": printable(run.path), "models": list(run.models)}


def show_experiment(
    name: str, stores: Sequence[str] = (layout.OUTPUTS,), with_progress: WithProgress = iter
) -> ExperimentSummary:
    """Add up the runs of an experiment: those below its folder, and those in other stores that have its id.

    Of several copies of a run one counts, and a call that several of its runs have counts once.
    """
    experiment = find(name)
    identity = experiment.experiment_id if experiment else id_from_name(name)
    ids = {id_from_name(name), identity}
    own = dict.fromkeys(_runs_in([experiment.outputs]) if experiment else [])
    runs: dict[str, _ReadRun] = {}
    unreadable: list[tuple[str, str]] = []
    for path in with_progress([*own, *_runs_in(stores)]):
        run = read_run_document(path)
        if run.document is not None and (path in own or RunFields(run.document).experiment_id in ids):
            read = _read_run(run, run.document)
            key = RunFields(run.document).run_id or path
            runs[key] = max(runs.get(key, read), read, key=lambda one: one.knowledge)
        elif run.problem is not None and path in own:
            unreadable.append((path, run.problem))
    if experiment is None and not runs:
        raise no_experiment(name)
    lines = sorted((run.line for run in runs.values()), key=lambda run: (run.started or "", run.path))
    table = RunTableBuilder()
    for line, document in runs.values():
        table.add(line.path, _row(line), document)
    twice = _counted_twice(runs.values())
    return ExperimentSummary(
        name, experiment, identity, tuple(lines), tuple(unreadable), table.table(), twice
    )


def _runs_in(stores: Iterable[str]) -> list[str]:
    return [path for store in stores for path in (*run_directories(store), *archived_runs(store))]


class _ReadRun(NamedTuple):
    line: RunLine
    document: JsonObject

    @property
    def knowledge(self) -> tuple[float, float]:
        """The more, the more a copy of a run has of its calls."""
        calls = _count(_object(self.document.get("performance")).get("calls"))
        return calls or 0, self.line.known_cost_usd or 0

    @property
    def is_part(self) -> bool:
        """Whether another run started it, so that both can have the same calls."""
        relations = self.document.get("relations")
        return isinstance(relations, list) and any(_object(one).get("type") == "parent" for one in relations)


def _counted_twice(runs: Collection[_ReadRun]) -> CountedTwice:
    """What runs have of the same calls, as the catalog would find."""
    if not any(run.is_part for run in runs):
        return NOTHING_TWICE
    with CatalogDatabase(None) as database:
        fill_with(database, [run.line.path for run in runs])
        return counted_twice(database)


def _read_run(run: RunDocument, start: JsonObject) -> _ReadRun:
    """A run, of an open one as it is so far."""
    is_open = RunFields(start).status == "running"
    so_far = document_so_far(run.path, start) if is_open else None
    document = so_far or start
    generation, costs = document["generation"], _object(document.get("costs"))
    line = RunLine(
        run.path,
        run.run_id,
        status_now(run.path, document),
        _text(generation.get("timestamp_start")),
        _number(generation.get("duration_seconds")),
        tuple(_models(document)),
        _count(costs.get("input_tokens")),
        _count(costs.get("output_tokens")),
        _number(costs.get("total_cost_usd")),
        known_cost(document),
        None if is_open and so_far is None else has_calls(document),
        may_have_more(document),
    )
    return _ReadRun(line, document)


def _row(run: RunLine) -> JsonObject:
    """A run by the columns of `runcard ls`."""
    has_tokens = run.input_tokens is not None and run.output_tokens is not None
    return {
        "id": run.run_id,
        "started": run.started,
        "status": run.status,
        "model": ", ".join(run.models) or None,
        "tokens": (run.input_tokens or 0) + (run.output_tokens or 0) if has_tokens else None,
        "cost": run.cost_usd,
        "known_cost": run.known_cost_usd,
        "duration": run.duration_seconds,
    }


def _models(document: JsonObject) -> Iterator[str]:
    """The models that were called; if no call was recorded, the configured one."""
    called = [part.get("model") for part in model_breakdown(document)]
    configured = [_object(document.get("configuration")).get("model")]
    yield from dict.fromkeys(model for model in called or configured if isinstance(model, str))


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _count(value: object) -> int | None:
    number = _number(value)
    return None if number is None else int(number)
