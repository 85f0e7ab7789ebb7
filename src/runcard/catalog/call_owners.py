"""Decide which usage counts, so that each call counts once, whoever recorded it: see `same_calls`.

Of several copies of a record, one counts. A call that several records have counts by a row of its own, with a number below 0, and
those of the records do not: `shared_calls` has them. Where a program in a metered run stated totals, the calls of the meter count. What was written since is in `unsettled`. So this looks at new records, and at calls of which a record is
gone, and never at the others.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from runcard.catalog.call_identity import GIVEN, TRANSCRIPT, WIRE
from runcard.catalog.lineage import RecordLineage
from runcard.catalog.record_copies import copied_records
from runcard.catalog.rows import RUN, SESSION
from runcard.catalog.same_calls import CLOSE, CallClaim, CallRecord, SameCall, same_calls
from runcard.catalog.tables import USAGE_COLUMNS

if TYPE_CHECKING:
    from runcard.catalog.database import CatalogDatabase

_SOME = 1000  # keys or records in one question
_MANY = 1000  # new records, after which all calls are looked at
_COUNTED, _ELSEWHERE, _IN_SESSION = (
    1,
    0,
    -1,
)  # of `counts`; the last: in a session that does not list its calls
_WITHOUT_IDS = ("gemini", "opencode")  # tools whose files do not have the ids of the provider
_AMONG = "IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"

_IN_SPAN = "coalesce(u.started, 0) BETWEEN ? AND ?"
_LATEST = 2**62  # later than any time

_PLACE = {name: number for number, name in enumerate(USAGE_COLUMNS)}
_FIGURES = ("input", "output", "cache_read", "cache_write", "reasoning", "cost", "known_cost", "fresh")
_FURTHER_COUNTS = ("cache_read", "cache_write", "reasoning")
_OF_BEST = ("model", "provider", "token_source", "started", "witness")


class _UsageRow(NamedTuple):
    record: int
    number: int
    counts: int
    values: tuple[Any, ...]  # in the order of USAGE_COLUMNS

    def get(self, name: str) -> Any:  # noqa: ANN401 - of a database
        return self.values[_PLACE[name]]

    @property
    def place(self) -> tuple[int, int]:
        return self.record, self.number

    @property
    def keys(self) -> set[int]:
        return {key for key in (self.get("response"), self.get("request")) if key is not None}


def settle(database: "CatalogDatabase") -> None:
    """Decide what counts, as far as something was written since."""
    with database.writing():
        database.engine.lock_calls()
        _Settlement(database).run()


class _Settlement:
    def __init__(self, database: "CatalogDatabase") -> None:
        self._database = database
        self._touched: set[int] = set()  # records
        self._added: dict[int, list[tuple[Any, ...]]] = defaultdict(list)  # usage that counts now, by record
        self._taken_off: dict[int, list[tuple[Any, ...]]] = defaultdict(list)

    def run(self) -> None:
        rows = self._database.rows("SELECT record, call FROM unsettled")
        new, keys = {record for record, _ in rows if record}, {call for _, call in rows if call is not None}
        changed = self._mark_copies()
        new |= changed
        keys |= self._keys_settled(changed)
        self._name_reports(new)
        self._name_transcripts(new)
        claimed = self._in_sessions() | self._session_totals()
        freed = [row for row in self._rows("u.counts = ?", [_IN_SESSION]) if row.place not in claimed]
        self._set_counts(freed, _COUNTED)
        keys |= {key for row in freed for key in row.keys}
        keys |= self._shared_keys(new)
        self._settle_calls(keys, claimed)
        claimed |= self._behind_relays()
        self._set_counts([row for row in claimed.values() if row.counts == _COUNTED], _IN_SESSION)
        self._update_totals()
        self._database.query("DELETE FROM unsettled")

    # Copies

    def _mark_copies(self) -> set[int]:
        """Mark the copies of records that do not count; returns the records that were one, or are one now."""
        now = copied_records(self._database).left_out
        before = {record for (record,) in self._database.rows("SELECT id FROM records WHERE is_copy = 1")}
        for records, mark in ((now - before, 1), (before - now, 0)):
            for some in _some(records):
                sql = f"UPDATE records SET is_copy = {mark} WHERE id {_AMONG}"  # noqa: S608
                self._database.query(sql, [_json_list(some)])
                found = self._rows(f"u.number >= 0 AND u.record {_AMONG}", [_json_list(some)])
                self._set_counts(
                    [row for row in found if row.counts == mark], _ELSEWHERE if mark else _COUNTED
                )
        return {*(now ^ before)}

    # Reports without an id

    def _name_reports(self, new: set[int]) -> None:
        """Give reports of `add_usage` without an id that of the call of the wire with the same counts, in a run around theirs."""
        lineage = RecordLineage(self._database)
        for record in sorted(lineage.near(new)):
            where = (
                "u.record = ? AND u.witness = ? AND u.number >= 0 AND u.client_session IS NULL "
                "AND u.response IS NULL AND u.request IS NULL"
            )
            nameless = self._rows(where, [record, GIVEN]) if lineage.above(record) else []
            if not nameless:
                continue
            taken = {row.get("response") for row in self._rows("u.record = ? AND u.number >= 0", [record])}
            for row in nameless:
                call = self._wire_call(row, lineage.above(record), taken)
                if call is not None:
                    taken.add(call.get("response"))
                    self._name(row, call)

    def _name(self, row: _UsageRow, call: _UsageRow) -> None:
        """Give a report the id and the time of a call: programs report at their end."""
        named = dict(zip(USAGE_COLUMNS, row.values, strict=True))
        named |= {"response": call.get("response"), "started": call.get("started")}
        sql = "UPDATE usage SET response = ?, started = ? WHERE record = ? AND number = ?"
        self._database.query(sql, (named["response"], named["started"], *row.place))
        if row.counts == _COUNTED:
            self._taken_off[row.record].append(row.values)
            self._added[row.record].append(tuple(named.values()))

    def _wire_call(self, row: _UsageRow, runs: Sequence[int], taken: set[int]) -> _UsageRow | None:
        where = f"u.record {_AMONG} AND u.witness = ? AND u.input = ? AND u.output = ? AND u.number >= 0 AND u.response IS NOT NULL"
        found = self._rows(where, [_json_list(runs), WIRE, row.get("input"), row.get("output")])
        ((began,),) = self._database.rows("SELECT started FROM records WHERE id = ?", (row.record,))
        for one in found:
            if not _is_between(began, one.get("started"), row.get("started")):
                continue
            if one.get("response") not in taken and not self._contradicts(row, one):
                return one
        return None

    def _contradicts(self, report: _UsageRow, call: _UsageRow) -> bool:
        """Whether a report with the counts of a call of the wire is of another one, which went around the meter."""
        models = {report.get("model"), call.get("model")} - {None}
        if len(models) == 2 and not _is_version(models):
            return True
        pairs = [(report.get(name), call.get(name)) for name in _FURTHER_COUNTS]
        if any(None not in pair and pair[0] != pair[1] for pair in pairs):
            return True
        providers = {report.get("provider"), call.get("provider")} - {None}
        if len(providers) < 2:
            return False
        # That of the call may be the one of its price; where its run names it as well, its host did.
        ((of_run,),) = self._database.rows("SELECT provider FROM records WHERE id = ?", (call.record,))
        return bool(of_run == call.get("provider"))

    def _name_transcripts(self, new: set[int]) -> None:
        """Give calls of tools that write no id of the provider that of a call of the wire at the same time with the same counts."""
        sql = (
            "SELECT t.record, t.number, w.record, w.number FROM records r JOIN usage t ON t.record = r.id "  # noqa: S608
            "JOIN usage w ON w.started BETWEEN t.started - ? AND t.started + ? AND w.input = t.input AND w.output = t.output "
            "WHERE r.tool IN (?, ?) AND t.witness = ? AND w.witness = ? AND t.number >= 0 AND w.number >= 0 "
            f"AND w.response IS NOT NULL AND (t.record {_AMONG} OR w.record {_AMONG}) "
            "ORDER BY abs(t.started - w.started), t.record, t.number, w.record, w.number"
        )
        tools = self._database.rows("SELECT 1 FROM records WHERE tool IN (?, ?) LIMIT 1", _WITHOUT_IDS)
        if not new or not tools:
            return
        listed = _json_list(new)
        parameters = (CLOSE, CLOSE, *_WITHOUT_IDS, TRANSCRIPT, WIRE, listed, listed)
        pairs = [(self._row(*row[:2]), self._row(*row[2:])) for row in self._database.rows(sql, parameters)]
        own = {one.get("response") for one, call in pairs if one.get("response") == call.get("response")}
        taken, done = {*own}, {one.place for one, _ in pairs if one.get("response") in own}
        for one, call in pairs:
            models = {one.get("model"), call.get("model")} - {None}
            is_same = len(models) < 2 or _is_version(models)
            if is_same and one.place not in done and call.get("response") not in taken:
                done.add(one.place)
                taken.add(call.get("response"))
                sql = "UPDATE usage SET response = ? WHERE record = ? AND number = ?"
                self._database.query(sql, (call.get("response"), *one.place))

    def _row(self, record: int, number: int) -> _UsageRow:
        return self._rows("u.record = ? AND u.number = ?", [record, number])[0]

    # Sessions that do not list their calls

    def _in_sessions(self) -> dict[tuple[int, int], _UsageRow]:
        """The calls of runs that are in sessions which were imported before sessions listed their calls."""
        sql = (
            "SELECT s.record_id, x.calls, r.id FROM relations x JOIN records s ON s.id = x.record "
            "JOIN records r ON r.record_id = x.other_id AND r.kind = ? WHERE x.calls > 0 AND s.is_copy = 0 AND r.is_copy = 0 "
            "AND NOT EXISTS (SELECT 1 FROM usage u WHERE u.record = s.id AND u.witness IS NOT NULL)"
        )
        found: dict[tuple[int, int], _UsageRow] = {}
        for session, calls, run in self._database.rows(sql, (RUN,)):
            rows = self._rows("u.record = ? AND u.number >= 0", [run])
            own = [row for row in rows if row.get("client_session") == session or row.get("witness") is None]
            own.sort(key=lambda row: (row.get("started") or 0, row.number))
            found |= {(run, row.number): row for row in own[:calls]}
        return found

    def _session_totals(self) -> dict[tuple[int, int], _UsageRow]:
        """The totals of sessions that programs reported, of those whose calls others have: a session, or the relay of a run around."""
        found = self._rows(
            "u.witness = 1 AND u.client_session IS NOT NULL AND u.response IS NULL AND u.number >= 0", []
        )
        lineage = RecordLineage(self._database) if found else None
        session = "SELECT 1 FROM records WHERE kind = ? AND record_id = ? AND calls > 0 LIMIT 1"
        metered = f"SELECT 1 FROM usage u WHERE u.record {_AMONG} AND u.client_session = ? AND u.witness = ? LIMIT 1"  # noqa: S608
        totals = {}
        for row in found:
            own = row.get("client_session")
            above = lineage.above(row.record) if lineage is not None else []
            is_known = self._database.rows(session, (SESSION, own)) or (
                above and self._database.rows(metered, (_json_list(above), own, WIRE))
            )
            if is_known:
                totals[row.place] = row
        return totals

    # Usage without ids that a relay saw

    def _behind_relays(self) -> dict[tuple[int, int], _UsageRow]:
        """The usage without ids of runs whose calls others have; what is more than those counts beside them, as a lower bound.

        A program in a metered run stated totals, or calls were taken out of the journal of a run.
        """
        self._remove_rows(self._rows("u.number < 0 AND u.response IS NULL AND u.request IS NULL", []))
        sql = (
            "SELECT r.id FROM (SELECT record AS id FROM relations WHERE type = 'parent' UNION "
            "SELECT n.id FROM relations x JOIN records n ON n.record_id = x.other_id) near JOIN records r ON r.id = near.id "
            "WHERE r.kind = ? AND r.is_copy = 0 AND EXISTS (SELECT 1 FROM usage u WHERE u.record = r.id "
            "AND u.response IS NULL AND u.request IS NULL AND u.client_session IS NULL AND u.number >= 0) ORDER BY 1"
        )
        records = [record for (record,) in self._database.rows(sql, (RUN,))]
        found: dict[tuple[int, int], _UsageRow] = {}
        if not records:
            return found
        lineage = RecordLineage(self._database)
        for record in records:
            above = lineage.above(record)
            own = self._rows("u.record = ? AND u.number >= 0", [record])
            found |= {row.place: row for row in own if self._is_repeated(row, own, above)}
            totals = [row for row in own if row.get("witness") is None]
            seen = self._seen_only_by(above, record) if totals else []
            if not seen and any(row.get("calls") for row in totals):
                seen = self._seen_by(lineage.relatives(record), record)
            if seen:
                found |= {row.place: row for row in totals}
                self._count_rest(totals, seen)
        return found

    def _is_repeated(self, row: _UsageRow, own: Sequence[_UsageRow], above: Sequence[int]) -> bool:
        """Whether a report without an id is of a call that its run has by its id, too: the relay saw no other with its counts."""
        if row.keys or row.get("witness") != GIVEN or row.get("client_session") is not None:
            return False
        call = self._wire_call(row, above, set())
        return call is not None and call.get("response") in {one.get("response") for one in own}

    def _seen_only_by(self, runs: Sequence[int], record: int) -> list[_UsageRow]:
        """The calls that relays of these runs saw while another run was open, and of which no other record tells."""
        others = (
            "SELECT 1 FROM shared_calls s JOIN shared_calls o ON o.of_record = s.of_record AND o.of_number = s.of_number "  # noqa: S608
            f"WHERE s.record = u.record AND s.number = u.number AND (o.place < s.place OR o.record NOT {_AMONG})"
        )
        where = (
            f"u.record {_AMONG} AND u.witness = ? AND u.number >= 0 AND {_IN_SPAN} AND NOT EXISTS ({others})"
        )
        listed = _json_list(runs)
        return self._rows(where, [listed, WIRE, *self._span(record), listed])

    def _seen_by(self, relatives: Sequence[int], record: int) -> list[_UsageRow]:
        """The calls, each once, that these records list of the time of a run."""
        sql = (
            "SELECT DISTINCT coalesce(s.of_record, u.record), coalesce(s.of_number, u.number) FROM usage u "  # noqa: S608
            "LEFT JOIN shared_calls s ON s.record = u.record AND s.number = u.number "
            f"WHERE u.record {_AMONG} AND u.number >= 0 AND u.witness IS NOT NULL AND {_IN_SPAN}"
        )
        places = self._database.rows(sql, [_json_list(relatives), *self._span(record)])
        return [self._row(*place) for place in places]

    def _span(self, record: int) -> tuple[int, int]:
        """The time of a run; without an end, or a start, all of it."""
        sql = "SELECT started, CASE WHEN is_open = 0 THEN ended END FROM records WHERE id = ?"
        ((began, ended),) = self._database.rows(sql, (record,))
        return (0 if began is None else began - CLOSE), (_LATEST if ended is None else ended + CLOSE)

    def _count_rest(self, totals: Sequence[_UsageRow], seen: Sequence[_UsageRow]) -> None:
        """Count by how much totals are more than calls; nothing if they are the same. They may be of others."""
        first = totals[0]
        values = dict(zip(USAGE_COLUMNS, first.values, strict=True))
        stated, known = (_sums_of(rows) for rows in (totals, seen))
        if all(stated[name] == known[name] for name in ("input", "output")):
            return
        rest = {name: max(0, stated[name] - known[name]) for name in _FIGURES}
        is_more = rest["input"] > 0 or rest["output"] > 0
        values |= rest if is_more else dict.fromkeys(_FIGURES, 0)
        values |= {"calls": int(is_more), "at_least": 1}
        self._database.engine.insert({"usage": [(first.record, -1 - first.number, *values.values())]})
        self._touched.add(first.record)
        self._added[first.record].append(tuple(values.values()))

    # Calls

    def _keys_settled(self, records: set[int]) -> set[int]:
        """The identities of the calls of these records that count elsewhere, or count for others as well."""
        keys: set[int] = set()
        for some in _some(records):
            keys |= self._keys_of_rows(
                f"u.record {_AMONG} AND (u.counts != 1 OR u.number < 0)", [_json_list(some)]
            )
        return keys

    def _keys_of_rows(self, where: str, parameters: Sequence[object]) -> set[int]:
        sql = f"SELECT u.response, u.request FROM usage u WHERE {where}"  # noqa: S608 - text of our own
        return {key for row in self._database.rows(sql, parameters) for key in row if key is not None}

    def _shared_keys(self, new: set[int]) -> set[int]:
        """The identities that new records share with others."""
        found: set[int] = set()
        for name in ("response", "request"):
            if len(new) >= _MANY:
                sql = (
                    f"SELECT {name} FROM usage WHERE {name} IS NOT NULL AND number >= 0 GROUP BY {name} "  # noqa: S608
                    "HAVING min(record) != max(record)"
                )
                found |= {key for (key,) in self._database.rows(sql)}
                continue
            sql = (
                f"SELECT DISTINCT u.{name} FROM usage u JOIN usage o ON o.{name} = u.{name} AND o.record != u.record "  # noqa: S608
                f"WHERE u.record {_AMONG} AND u.{name} IS NOT NULL AND u.number >= 0 AND o.number >= 0"
            )
            for some in _some(new):
                found |= {key for (key,) in self._database.rows(sql, [_json_list(some)])}
        return found

    def _settle_calls(self, keys: set[int], claimed: Collection[tuple[int, int]]) -> None:
        lineage = RecordLineage(self._database) if keys else None
        done: set[int] = set()
        for some in _some(keys):
            if lineage is None or not (more := {*some} - done):
                continue
            rows, own = self._rows_of_calls(more)
            done |= own
            self._remove_rows([row for row in rows if row.number < 0])
            self._forget_shared(row for row in rows if row.counts == _ELSEWHERE)
            free = {
                row.place: row
                for row in rows
                if row.number >= 0 and row.place not in claimed and not lineage.is_copy(row.record)
            }
            calls = same_calls(_report(lineage.record(row.record), row) for row in free.values())
            self._count_calls([([free[one.place] for one in call.reports], call) for call in calls])

    def _count_calls(self, calls: Sequence[tuple[list[_UsageRow], SameCall]]) -> None:
        alone = (rows[0] for rows, _ in calls if len(rows) == 1)
        self._set_counts([row for row in alone if row.counts != _COUNTED], _COUNTED)
        shared = [(rows, call) for rows, call in calls if len(rows) > 1]
        self._set_counts([row for rows, _ in shared for row in rows if row.counts != _ELSEWHERE], _ELSEWHERE)
        added = [_row_of_call(rows, call) for rows, call in shared]
        places = [
            (*one.place, *row[:2], place)
            for (_, call), row in zip(shared, added, strict=True)
            for place, one in enumerate(call.ordered)
        ]
        self._database.engine.insert({"usage": added, "shared_calls": places})
        for record, _, *values in added:
            self._touched.add(record)
            self._added[record].append(tuple(values))

    def _rows_of_calls(self, keys: set[int]) -> tuple[list[_UsageRow], set[int]]:
        """The rows that may be of the calls with these identities, and all the identities that they have."""
        known, rows, more = set[int](), dict[tuple[int, int], _UsageRow](), keys
        while more:
            listed = _json_list(more)
            found = self._rows(f"u.response {_AMONG}", [listed]) + self._rows(f"u.request {_AMONG}", [listed])
            known |= more
            rows |= {row.place: row for row in found}
            more = {other for row in found for other in row.keys} - known
        return list(rows.values()), known

    # Rows

    def _rows(self, where: str, parameters: Sequence[object]) -> list[_UsageRow]:
        columns = ", ".join(f"u.{name}" for name in USAGE_COLUMNS)
        sql = f"SELECT u.record, u.number, u.counts, {columns} FROM usage u WHERE {where} ORDER BY u.record, u.number"  # noqa: S608
        return [
            _UsageRow(row[0], row[1], row[2], tuple(row[3:])) for row in self._database.rows(sql, parameters)
        ]

    def _set_counts(self, rows: Iterable[_UsageRow], counts: int) -> None:
        numbers: dict[int, list[int]] = defaultdict(list)
        for row in rows:
            numbers[row.record].append(row.number)
            if counts == _COUNTED:
                self._added[row.record].append(row.values)
            elif row.counts == _COUNTED:
                self._taken_off[row.record].append(row.values)
        self._touched |= numbers.keys()
        for record, own in numbers.items():
            sql = f"UPDATE usage SET counts = ? WHERE record = ? AND number {_AMONG}"  # noqa: S608
            self._database.query(sql, (counts, record, _json_list(own)))

    def _remove_rows(self, rows: Iterable[_UsageRow]) -> None:
        for row in rows:
            self._touched.add(row.record)
            self._database.query("DELETE FROM usage WHERE record = ? AND number = ?", row.place)
            self._taken_off[row.record].append(row.values)

    def _forget_shared(self, rows: Iterable[_UsageRow]) -> None:
        numbers: dict[int, list[int]] = defaultdict(list)
        for row in rows:
            numbers[row.record].append(row.number)
        for record, own in numbers.items():
            sql = f"DELETE FROM shared_calls WHERE record = ? AND number {_AMONG}"  # noqa: S608
            self._database.query(sql, (record, _json_list(own)))

    def _update_totals(self) -> None:
        self._database.change_totals(self._added, self._taken_off)
        sql = f"SELECT DISTINCT u.record FROM usage u WHERE u.counts = 1 AND u.record {_AMONG}"  # noqa: S608
        for some in _some(self._touched):
            counted = {record for (record,) in self._database.rows(sql, [_json_list(some)])}
            for records, mark in ((counted, 1), (set(some) - counted, 0)):
                update = f"UPDATE records SET is_counted = {mark} WHERE id {_AMONG}"  # noqa: S608
                self._database.query(update, [_json_list(records)])


def _sums_of(rows: Iterable[_UsageRow]) -> dict[str, int]:
    """What is known of the figures of these rows, added up."""
    return {name: sum(row.get(name) or 0 for row in rows) for name in _FIGURES}


def _row_of_call(rows: Sequence[_UsageRow], call: SameCall) -> tuple[Any, ...]:
    """The row by which a call of several records counts."""
    by_place = {row.place: row for row in rows}
    owner, best = by_place[call.owner.place], by_place[call.best.place]
    values = dict(zip(USAGE_COLUMNS, owner.values, strict=True)) | dict(
        zip(_FIGURES, call.figures, strict=True)
    )
    values |= {name: best.get(name) for name in _OF_BEST if best.get(name) is not None}
    if owner.get("instance_id") is None and owner.get("provider") is not None:
        values["provider"] = owner.get("provider")  # that of the best report may be the one of its price
    for name in ("response", "request", "client_session"):
        values[name] = next((row.get(name) for row in (best, *rows) if row.get(name) is not None), None)
    values["at_least"] = _at_least(call, by_place)
    return owner.record, -1 - owner.number, *values.values()


def _at_least(call: SameCall, rows: Mapping[tuple[int, int], _UsageRow]) -> int:
    """Whether there may be more: not where the relay saw all calls, also those that a transcript lacks. A closed copy knows more.

    Reports that are joined by time and counts, without an id, may be of two calls.
    """
    if call.is_unclear:
        return 1
    of_record: dict[str, int] = {}
    for one in call.reports:
        flag = int(rows[one.place].get("at_least"))
        of_record[one.record.record_id] = min(flag, of_record.get(one.record.record_id, flag))
    best = call.best
    is_sure = not any(one.witness == TRANSCRIPT and one.record.tool in _WITHOUT_IDS for one in call.reports)
    return of_record[best.record.record_id] if best.witness == WIRE and is_sure else max(of_record.values())


def _report(record: CallRecord, row: _UsageRow) -> CallClaim:
    return CallClaim(
        record,
        row.number,
        row.get("response"),
        row.get("request"),
        row.get("client_session"),
        row.get("witness") or 0,
        row.get("started"),
        row.get("token_source"),
        tuple(row.get(name) for name in _FIGURES),
    )


def _is_between(began: int | None, call: int | None, report: int | None) -> bool:
    """Whether a call was made after its run began and before it was reported, as far as that is known."""
    if call is None:
        return True
    return (began is None or call >= began - CLOSE) and (report is None or call <= report + CLOSE)


def _is_version(models: set[str]) -> bool:
    """Whether one of two names of a model is the other with a date."""
    short, long = sorted(models, key=len)
    return long.startswith(short)


def _some(values: Iterable[int]) -> Iterator[list[int]]:
    ordered = iter(sorted(values))
    while some := list(islice(ordered, _SOME)):
        yield some


def _json_list(values: Iterable[int]) -> str:
    return json.dumps(sorted(values))
