"""What a record and a gigabyte cost: processor time, memory and bytes at three sizes, and the slope between them.

The slopes are the inputs of the cost model in docs/scaling.md. A command whose time grows faster than the number of records is
what breaks first: its row has the slope of the upper half divided by that of the lower half.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.measuring import MIB, RUNCARD, Cost, cost, scratch, two_cores
from bench.table import Row, Times

_RECORD = """
import os, sys, runcard
store, number, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for each in range(number):
    with runcard.record(store, model="claude-sonnet-4-5", provider="anthropic", config={"n": each}, strict=True) as run:
        run.add_usage({"input": 1000 + each, "output": 200}, step="only")
        run.log_metric("accuracy", 0.5)
        (run.path / "answer.txt").write_bytes(os.urandom(size))
"""
_ANSWER = 4096  # bytes that a small run makes


class SizedCost(NamedTuple):
    """What a command took for so many records, or gigabytes."""

    size: float
    cost: Cost


def measure(*, quick: bool = False) -> Iterator[Row]:
    counts = (100, 200, 400) if quick else (1_000, 2_000, 4_000)
    megabytes = (64, 128, 256) if quick else (256, 512, 1024)
    with two_cores(), scratch() as folder:
        os.environ["XDG_DATA_HOME"] = os.environ["XDG_STATE_HOME"] = str(folder / "home")
        yield from per_record(folder, counts)
        yield from per_gigabyte(folder, megabytes)


def per_record(folder: Path, counts: Sequence[int]) -> Iterator[Row]:
    stores = {count: folder / f"store-{count}" for count in counts}
    made = [SizedCost(count, _record(store, count, _ANSWER)) for count, store in stores.items()]
    yield from _rows("record", made, "record")
    yield _bytes("record, on disk", {count: _size(store) for count, store in stores.items()})
    yield from _commands("verify", stores, lambda store: [RUNCARD, "verify", "-q", store])
    copies = {4 * count: folder / f"copies-{count}" for count in counts}
    first = min(stores[counts[0]].glob("2*"))
    for count, store in copies.items():
        _copy(first, store, count)
    yield from _catalog(copies, {count: folder / f"catalog-{count}.db" for count in copies})
    yield from _commands(
        "archive", stores, lambda store: [RUNCARD, "archive", "-q", *sorted(store.glob("2*"))]
    )
    yield _bytes("record, archived", {count: _size(store / "archive") for count, store in stores.items()})
    yield from _commands(
        "verify, archived", stores, lambda store: [RUNCARD, "verify", "-q", store / "archive"]
    )


def _copy(run: Path, store: Path, number: int) -> None:
    """Copies of a run with ids of their own, which are made faster than they are recorded. Only the catalog takes them for runs."""
    document = (run / "metadata.json").read_text()
    run_id = str(json.loads(document)["generation"]["run_id"])
    for each in range(number):
        copy = store / f"2026-11-{each % 28 + 1:02}_{each:06}"
        shutil.copytree(run, copy)
        (copy / "metadata.json").write_text(document.replace(run_id, f"run-{each:022}"))


def _catalog(stores: dict[int, Path], catalogs: dict[int, Path]) -> Iterator[Row]:
    def with_catalog(store: Path, *words: str | Path) -> list[str | Path]:
        count = next(count for count, each in stores.items() if each == store)
        home = f"{store}-home"  # of a user who knows this store only
        own = [f"XDG_DATA_HOME={home}", f"XDG_STATE_HOME={home}", f"RUNCARD_CATALOG={catalogs[count]}"]
        return ["env", *own, RUNCARD, *words]

    yield from _commands("index", stores, lambda store: with_catalog(store, "index", "--rebuild", store))
    yield _bytes("record, in the catalog", {count: path.stat().st_size for count, path in catalogs.items()})
    yield from _commands("costs", stores, lambda store: with_catalog(store, "costs", "--by", "model"))
    yield from _commands(
        "export to a dataset",
        stores,
        lambda store: with_catalog(store, "export", "--to", "parquet", f"{store}-dataset/"),
    )
    datasets = {count: _size(Path(f"{store}-dataset")) for count, store in stores.items()}
    yield _bytes("record, in a dataset", datasets)


def per_gigabyte(folder: Path, megabytes: Sequence[int]) -> Iterator[Row]:
    stores = {size: folder / f"large-{size}" for size in megabytes}
    for size, store in stores.items():
        _record(store, 1, size * MIB)
    works: dict[str, Callable[[Path], list[str | Path]]] = {
        "verify": lambda store: [RUNCARD, "verify", "-q", store],
        "archive": lambda store: [RUNCARD, "archive", "-q", *store.glob("2*")],
        "verify, archived": lambda store: [RUNCARD, "verify", "-q", store / "archive"],
    }
    for name, words in works.items():
        costs = [SizedCost(size * MIB / 1e9, cost(words(store))) for size, store in stores.items()]
        yield from _rows(name, costs, "GB")


def _commands(name: str, stores: dict[int, Path], words: Callable[[Path], list[str | Path]]) -> Iterator[Row]:
    yield from _rows(
        name, [SizedCost(count, cost(words(store))) for count, store in stores.items()], "record"
    )


def _record(store: Path, number: int, size: int) -> Cost:
    return cost([sys.executable, "-c", _RECORD, str(store), str(number), str(size)])


def _rows(name: str, costs: Sequence[SizedCost], unit: str) -> Iterator[Row]:
    """The processor time by the slope through all three; how much it grows; and the memory of the largest."""
    small, middle, large = costs
    factor, shown = (1e3, "ms") if unit == "record" else (1, "s")
    seconds = slope([(each.size, each.cost.processor_seconds) for each in costs]) * factor
    yield Row(f"{name}: processor time for each {unit}", Times.once(seconds), "", None, shown)
    lower = slope([(each.size, each.cost.processor_seconds) for each in (small, middle)])
    upper = slope([(each.size, each.cost.processor_seconds) for each in (middle, large)])
    yield Row(f"{name}: growth with the number of {unit}s", Times.once(upper / lower), "", None, "x")
    yield Row(f"{name}: memory, {large.size:,.3g} {unit}s", Times.once(large.cost.megabytes), "", None, "MB")


def _bytes(name: str, sizes: dict[int, int]) -> Row:
    return Row(f"bytes of a {name}", Times.once(slope([*sizes.items()])), "", None, "B")


def slope(points: Sequence[tuple[float, float]]) -> float:
    """The slope of the line with the least squares."""
    middle = sum(x for x, _ in points) / len(points)
    return sum((x - middle) * y for x, y in points) / sum((x - middle) ** 2 for x, _ in points)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
