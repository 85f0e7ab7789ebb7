"""Lists have the rows, and the number of rows, that an independent look at the documents finds, whatever is asked together."""

import os
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest

from runcard.catalog import searching
from runcard.catalog.columns import INSTANCES, RECORDS
from runcard.catalog.database import CatalogDatabase
from runcard.catalog.filling import FoundRecord, store_number, table_rows
from runcard.catalog.rows import RecordRows
from runcard.catalog.searching import Filters, list_table
from runcard.catalog.session_rows import session_rows

Json = dict[str, Any]
LIMIT = 3


def document(random: Random, number: int) -> Json:
    names = random.sample(["ann", "bob", "cleo"], random.randrange(1, 4))
    labels = {"team": random.choice(["ux", "core"]), "tier": random.choice([1, 2]), "flag": True}
    return {
        "kind": random.choice(["run", "session"]),
        "number": number,
        "execution_summary": {"total_cost": random.choice([None, 0.1, 0.2]), "failed_instances": 0},
        "instances": [{"instance_id": name, "name": name, "cost": 0.1} for name in names],
        "labels": {name: value for name, value in labels.items() if random.random() < 0.8},
    }


def fill(database: CatalogDatabase, documents: list[Json]) -> None:
    def read(place: FoundRecord) -> RecordRows:
        data = documents[int(place.name)]
        rows = session_rows(data)
        rows.record |= {"kind": data["kind"], "record_id": place.name, "is_open": 0}
        return rows

    store = store_number(database, "/nowhere")
    places = [FoundRecord(str(number), f"/nowhere/{number}", "") for number in range(len(documents))]
    database.put(store, table_rows(store, database.take_numbers(len(places)), places, read))
    database.make_indexes()


CONDITIONS: list[tuple[str, str, Callable[[Json], bool]]] = [
    ("where", "label.team = ux", lambda data: data["labels"].get("team") == "ux"),
    ("where", "label.tier = 1", lambda data: data["labels"].get("tier") == 1),
    ("where", "label.flag = null", lambda data: "flag" not in data["labels"]),
    ("where", "not label.tier = 2", lambda data: data["labels"].get("tier") != 2),
    (
        "where",
        "(label.team = core and label.tier = 2 or label.flag = true)",
        lambda data: data["labels"].get("flag", False) or data["labels"] == {"team": "core", "tier": 2},
    ),
    ("where", "record.cost > 0.15", lambda data: (data["execution_summary"]["total_cost"] or 0) > 0.15),
    ("kind", "session", lambda data: data["kind"] == "session"),
    ("text", "bob", lambda data: any(one["name"] == "bob" for one in data["instances"])),
]


def filters_of(chosen: tuple[tuple[str, str, Callable[[Json], bool]], ...]) -> Filters:
    where = " and ".join(text for name, text, _ in chosen if name == "where").replace("record.", "")
    others = {name: text for name, text, _ in chosen if name != "where"}
    return Filters(where=where or None, **others)  # type: ignore[arg-type]


@pytest.mark.parametrize("common", [1, 2000])
def test_conditions_that_hold_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, common: int) -> None:
    monkeypatch.setattr(searching, "_COMMON", common)
    random = Random(common)  # noqa: S311
    documents = [document(random, number) for number in range(60)]
    with CatalogDatabase(os.environ.get("RUNCARD_CATALOG") or str(tmp_path / "catalog.db")) as database:
        fill(database, documents)
        for size in (1, 2, 3):
            for chosen in combinations(CONDITIONS, size):
                found = [data for data in documents if all(holds(data) for *_, holds in chosen)]
                table = list_table(database, RECORDS, filters_of(chosen), ["id"], ["-cost"], LIMIT)
                every = list_table(database, RECORDS, filters_of(chosen), ["id"])
                assert (table.total, len(table.rows)) == (len(found), min(len(found), LIMIT)), chosen
                assert {own for (own,) in every.rows} == {str(data["number"]) for data in found}, chosen
                if any(text.startswith("record.") for _, text, _ in chosen):
                    continue
                agents = list_table(database, INSTANCES, filters_of(chosen), ["id"], ["name"], LIMIT)
                assert agents.total == sum(len(data["instances"]) for data in found), chosen
