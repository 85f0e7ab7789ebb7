"""What came of an experiment: its runs counted and added up. What is not known is counted too, and never taken for zero."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from runcard.documents.exact_sums import exact_sum, plain_number, whole_sum
from runcard.encoding import JsonObject
from runcard.files import printable
from runcard.masking import mask_data
from runcard.operations.checks.show import status_now
from runcard.operations.experiments import Experiment, find, no_experiment
from runcard.operations.experiments.runs import ReadRun, read_run, run_folders
from runcard.operations.masking import use_masking_settings
from runcard.store import layout
from runcard.store.experiments import id_of_name

Watch = Callable[[Iterable[str]], Iterable[str]]

LAST = 5  # runs that are shown one by one


class RunLine(NamedTuple):
    """One run of an experiment."""

    path: str
    run_id: str
    status: str | None  # as it is now
    started: str | None
    duration_seconds: float | None
    models: tuple[str, ...]
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    known_cost_usd: float | None  # of what it cost, the part that is known


class Total(NamedTuple):
    """A sum of what is known, and for how many runs it is not."""

    known: float | int | None  # None when it is known for no run
    unknown: int


@dataclass(frozen=True, slots=True)
class Summary:
    """An experiment and its runs."""

    name: str
    experiment: Experiment | None  # None for one that is a name only
    experiment_id: str
    runs: tuple[RunLine, ...]  # in the order of time
    unreadable: tuple[tuple[str, str], ...]  # path and reason

    @property
    def by_status(self) -> dict[str, int]:
        return dict(sorted(Counter(run.status or "unknown" for run in self.runs).items()))

    @property
    def by_model(self) -> dict[str, int]:
        """How many runs used each model."""
        return dict(Counter(model for run in self.runs for model in run.models).most_common())

    @property
    def cost(self) -> Total:
        known = [run.known_cost_usd for run in self.runs if run.known_cost_usd is not None]
        unknown = sum(run.cost_usd is None for run in self.runs)
        return Total(plain_number(exact_sum(known)) if known else None, unknown)

    @property
    def duration(self) -> Total:
        known = [run.duration_seconds for run in self.runs if run.duration_seconds is not None]
        return Total(plain_number(exact_sum(known)) if known else None, len(self.runs) - len(known))

    def tokens(self, kind: str) -> Total:
        """The tokens of `input` or `output`."""
        known = [count for run in self.runs if (count := getattr(run, f"{kind}_tokens")) is not None]
        return Total(whole_sum(known) if known else None, len(self.runs) - len(known))

    def to_dict(self) -> JsonObject:
        use_masking_settings()
        found = self.experiment
        return {
            "name": self.name,
            "path": printable(found.path) if found else None,
            "experiment_id": self.experiment_id,
            "created_at": found.created_at if found else None,
            "description": found.description if found else None,
            "configuration": mask_data(found.config).value if found else None,
            "runs": len(self.runs),
            "by_status": self.by_status,
            "by_model": self.by_model,
            "input_tokens": _total(self.tokens("input")),
            "output_tokens": _total(self.tokens("output")),
            "cost_usd": _total(self.cost),
            "duration_seconds": _total(self.duration),
            "last_runs": [_line(run) for run in self.runs[: -LAST - 1 : -1]],
            "unreadable": [
                {"path": printable(path), "message": printable(why)} for path, why in self.unreadable
            ],
        }


def _total(total: Total) -> JsonObject:
    return {"known": total.known, "runs_unknown": total.unknown}


def _line(run: RunLine) -> JsonObject:
    return run._asdict() | {"path": printable(run.path), "models": list(run.models)}


def sum_up(name: str, stores: Sequence[str] = (layout.OUTPUTS,), watch: Watch = iter) -> Summary:
    """Add up the runs of an experiment: those below its folder, and those in other stores that have its id."""
    found = find(name)
    ids = {id_of_name(name), found.experiment_id} if found else {id_of_name(name)}
    own = dict.fromkeys(run_folders(found.outputs) if found else [])
    others = [folder for store in stores for folder in run_folders(store)]
    runs: list[RunLine] = []
    unreadable: list[tuple[str, str]] = []
    for folder in watch([*own, *others]):
        run = read_run(folder)
        if run.document is not None and (
            folder in own or run.document["generation"].get("experiment_id") in ids
        ):
            runs.append(_read(run, run.document))
        elif run.problem is not None and folder in own:
            unreadable.append((folder, run.problem))
    if found is None and not runs:
        raise no_experiment(name)
    runs.sort(key=lambda run: (run.started or "", run.path))
    identity = found.experiment_id if found else id_of_name(name)
    return Summary(name, found, identity, tuple(runs), tuple(unreadable))


def _read(run: ReadRun, document: JsonObject) -> RunLine:
    generation, costs = document["generation"], _object(document.get("costs"))
    return RunLine(
        run.path,
        run.run_id,
        status_now(run.path, document),
        _text(generation.get("timestamp_start")),
        _number(generation.get("duration_seconds")),
        tuple(_models(document)),
        _count(costs.get("input_tokens")),
        _count(costs.get("output_tokens")),
        _number(costs.get("total_cost_usd")),
        _known_cost(document),
    )


def _known_cost(document: JsonObject) -> float | None:
    """What a run cost, or where that is not known the sum of the calls whose price is."""
    total = _number(_object(document.get("costs")).get("total_cost_usd"))
    if total is not None:
        return total
    known = [cost for part in _by_model(document) if (cost := _number(part.get("cost_usd"))) is not None]
    return plain_number(exact_sum(known)) if known else None


def _models(document: JsonObject) -> Iterator[str]:
    """The models that were called; where no call was recorded, the one that was configured."""
    called = [part.get("model") for part in _by_model(document)]
    named = [_object(document.get("configuration")).get("model")]
    yield from dict.fromkeys(model for model in called or named if isinstance(model, str))


def _by_model(document: JsonObject) -> list[JsonObject]:
    parts = _object(document.get("token_usage")).get("breakdown_by_model")
    return [_object(part) for part in parts] if isinstance(parts, list) else []


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _count(value: object) -> int | None:
    number = _number(value)
    return None if number is None else int(number)
