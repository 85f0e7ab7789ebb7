"""Fill the catalog with the test plans of projects: only those that changed, or whose source changed.

Every plan file and its source are looked at: there are few, and neither has a ledger. A project that cannot be reached
keeps its plans and is marked.
"""

import os
from collections.abc import Iterator
from itertools import islice
from stat import S_ISREG
from typing import Any

from runcard.catalog.database import CatalogDatabase
from runcard.catalog.filling import FillResult
from runcard.catalog.tables import PLAN_COLUMNS
from runcard.encoding.limits import DEFAULT
from runcard.errors import RuncardError
from runcard.files import json_name
from runcard.plans.agents import next_agent
from runcard.plans.freshness import is_validated
from runcard.plans.plan import Plan
from runcard.plans.plan_files import MethodRef, PlanLocation, is_plan_name, read_plan_file
from runcard.plans.plan_summary import INVALID, plan_state
from runcard.plans.project import Project, check_folder

_LONGEST = 1000  # characters of a value
_MOST_TEXT = 20_000  # characters that words are searched in
_SEARCHED = ("characteristics", "automation", "validation")
_PROJECT = "SELECT id FROM projects WHERE host = ? AND path = ?"
_INSERT = f"INSERT INTO plans (project, {', '.join(PLAN_COLUMNS)}) VALUES (?{', ?' * len(PLAN_COLUMNS)})"  # noqa: S608 - names of our own


def fill_plans(database: CatalogDatabase, project: Project) -> FillResult:
    """Bring the rows of the plans of a project up to date."""
    number = _project_number(database, project.root)
    known = _known_plans(database, number)
    names = _plan_names(project)
    if names is None:
        database.query("UPDATE projects SET is_reachable = 0 WHERE id = ? AND is_reachable = 1", (number,))
        return FillResult(project.root, len(known), 0, 0, is_reachable=False, are_plans=True)
    rows = [
        _plan_row(project, name)
        for text, name in names.items()
        if text not in known or known[text][0] != _fingerprint(project, name, known[text][1])
    ]
    removed = known.keys() - names.keys()
    if rows or removed:
        with database.writing():
            for name in (*removed, *(row[0] for row in rows)):
                database.query("DELETE FROM plans WHERE project = ? AND name = ?", (number, name))
            for row in rows:
                database.query(_INSERT, (number, *row))
    database.query("UPDATE projects SET is_reachable = 1 WHERE id = ? AND is_reachable = 0", (number,))
    return FillResult(project.root, len(names), len(rows), len(removed), are_plans=True)


def plans_were_read(database: CatalogDatabase, project: Project) -> bool:
    """Whether the catalog has the project, even if its plans are not the newest."""
    path = json_name(project.root).text
    return database.query(_PROJECT, (database.host, path)).fetchone() is not None


def _project_number(database: CatalogDatabase, root: str) -> int:
    own = database.host, json_name(root).text
    found = database.query(_PROJECT, own).fetchone()
    if found is None:
        database.query("INSERT INTO projects (host, path) VALUES (?, ?) ON CONFLICT DO NOTHING", own)
        found = database.query(_PROJECT, own).fetchone()
    return int(found[0])


def _known_plans(database: CatalogDatabase, project: int) -> dict[str, tuple[str, str | None]]:
    """The fingerprint and the source of each plan, by the name of its file."""
    sql = "SELECT name, fingerprint, source FROM plans WHERE project = ?"
    return {name: (fingerprint, source) for name, fingerprint, source in database.query(sql, (project,))}


def _plan_names(project: Project) -> dict[str, str] | None:
    """The plan files of a project, by their names as the catalog has them; None where they cannot be listed."""
    try:
        os.stat(project.root)
        check_folder(project)
        found = sorted(filter(is_plan_name, os.listdir(project.folder)), key=os.fsencode)
    except FileNotFoundError:
        return {} if os.path.isdir(project.root) else None
    except (OSError, RuncardError):
        return None
    return {json_name(name).text: name for name in found}


def _fingerprint(project: Project, name: str, source: str | None) -> str:
    plan = os.path.join(project.folder, name)
    paths = [plan] if source is None else [plan, os.path.join(project.root, source)]
    return " ".join(map(_stat_text, paths))


def _stat_text(path: str) -> str:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return "-"
    if not S_ISREG(status.st_mode):
        return "-"
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_ino}"


def _plan_row(project: Project, name: str) -> tuple[Any, ...]:
    """The row of a plan, in the order of PLAN_COLUMNS. Whatever is wrong with the plan is its `reason`."""
    path = os.path.join(project.folder, name)
    row: dict[str, Any] = {
        "name": json_name(name).text,
        "path": json_name(path).text,
        "changed": _changed(path),
    }
    fingerprint = _stat_text(path)  # before it is read: a later change is seen the next time
    try:
        plan_file = read_plan_file(path, DEFAULT)
        plan = Plan(PlanLocation(project, plan_file.target_file or "", plan_file))
        source = _clean(plan.location.file) or None
        if source is not None:
            fingerprint += f" {_stat_text(os.path.join(project.root, source))}"
        row |= _facts(plan) | {"source": source}
    except RuncardError as error:
        row |= {"status": INVALID, "reason": error.message, "next_agent": next_agent({}).name}
        row |= {"is_valid": 0, "is_validated": 0, "errors": 1, "warnings": 0}
    words = (row.get(key) for key in ("name", "source", "class_name", "method", "test_level", "reason"))
    row["text"] = " ".join(filter(None, (*words, row.get("searched")))).lower()[:_MOST_TEXT]
    row["fingerprint"] = fingerprint
    return tuple(_cut(row.get(column), column) for column in PLAN_COLUMNS)


def _facts(plan: Plan) -> dict[str, Any]:
    plan_file = plan.location.plan_file
    class_name, method, method_type = MethodRef.of(plan_file.section("target"))
    state, reason = plan_state(plan)
    data = plan_file.data or {}
    level = data.get("test_level")
    errors = len(plan.errors)
    return {
        "class_name": class_name,
        "method": method,
        "method_type": method_type,
        "test_level": level if isinstance(level, str) else None,
        "status": state,
        "reason": reason,
        "next_agent": next_agent(data).name,
        "is_valid": int(not errors),
        "is_validated": int(is_validated(plan_file)),
        "errors": errors,
        "warnings": len(plan.findings) - errors,
        "searched": " ".join(islice(_texts([data.get(key) for key in _SEARCHED]), 2000)),
    }


def _texts(value: object) -> Iterator[str]:
    """All texts in a value, keys left out."""
    work = [value]
    while work:
        item = work.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            work += reversed(item.values())
        elif isinstance(item, list):
            work += reversed(item)


def _changed(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns // 1_000_000
    except OSError:
        return None


def _cut(value: object, column: str) -> object:
    if not isinstance(value, str) or column in {"name", "path", "fingerprint", "source"}:
        return value
    text = _clean(value)
    return text if column == "text" else text[:_LONGEST]


def _clean(text: str) -> str:
    """A text that a database can hold: without lone surrogates and NUL."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
