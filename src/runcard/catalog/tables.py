"""The tables of the catalog, for SQLite.

Times are milliseconds since 1970. Costs are whole numbers of 10**-10 dollars, so that sums are exact. Unknown is null.

To change a table, change it here and raise VERSION: a catalog of another version is built anew.
"""

VERSION = 12
APPLICATION_ID = 0x72636174  # "rcat": other SQLite files are never touched
COST_UNIT = 10**10  # of a dollar

# What usage is added up by, and the sums: of each figure what is known of it, and of how many parts it is known.
TOTAL_KEYS = ("dimension", "value", "slot", "model", "token_source", "mix")
FIGURES = ("calls", "fresh", "output", "cache_read", "cache_write", "reasoning", "cost", "known_cost")
TOTAL_COLUMNS = (
    *("parts", "at_least", "unpriced", "huge"),
    *(f"{name}{suffix}" for name in FIGURES for suffix in ("", "_parts")),
)

_TOKENS = "input INTEGER, output INTEGER, cache_read INTEGER, cache_write INTEGER, reasoning INTEGER, token_source TEXT"
# `tokens` are input and output, or what the document has in their place; beside unknown ones, `known_tokens` is a part of them.
_SUMS = "tokens INTEGER, known_tokens INTEGER"
_COST = "cost INTEGER, known_cost INTEGER, at_least INTEGER NOT NULL DEFAULT 0"

TABLES = f"""
CREATE TABLE stores (
    id INTEGER PRIMARY KEY,
    host TEXT NOT NULL DEFAULT '',  -- on which it is; empty where a catalog belongs to one machine
    path TEXT NOT NULL,
    is_reachable INTEGER NOT NULL DEFAULT 1,
    cursor TEXT,  -- what the store looked like when it was read last; null: it must be read
    UNIQUE (host, path)
);
CREATE TABLE next_record (number INTEGER NOT NULL);  -- one row: the id of the next record: a writer takes as many as it needs
CREATE TABLE records (
    id INTEGER PRIMARY KEY,
    store INTEGER NOT NULL,
    name TEXT NOT NULL,  -- of its directory
    path TEXT NOT NULL,  -- of its directory, or of its archive
    is_archived INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,  -- of its files
    kind TEXT NOT NULL,  -- run or session
    record_id TEXT NOT NULL,
    sha256 TEXT,  -- of its metadata document
    problem TEXT,  -- why it cannot be read
    status TEXT,  -- of an open run: running, or interrupted
    is_open INTEGER NOT NULL DEFAULT 0,  -- its document says that it is running
    started INTEGER,
    ended INTEGER,
    seconds REAL,
    experiment TEXT,
    experiment_id TEXT,
    model TEXT,
    provider TEXT,
    calls INTEGER,
    {_SUMS},
    {_TOKENS},
    {_COST},
    instances INTEGER,
    failed_instances INTEGER,
    command TEXT,
    exit_code INTEGER,
    host TEXT,
    branch TEXT,
    git_commit TEXT,
    folder TEXT,  -- in which the work was done
    tool TEXT,  -- that a session was imported from
    title TEXT,  -- that it had there
    errors INTEGER NOT NULL DEFAULT 0,
    warnings INTEGER NOT NULL DEFAULT 0,
    first_error TEXT,
    last_usage INTEGER,  -- when the last part of its usage started; -1: unknown; null: it has none
    last_unknown_cost INTEGER,  -- the same of the parts whose cost is unknown
    undated_usage INTEGER NOT NULL DEFAULT 0,  -- parts without a time
    is_copy INTEGER NOT NULL DEFAULT 0,  -- another copy of the record counts: see call_owners.py
    is_counted INTEGER NOT NULL DEFAULT 1,  -- some of its usage counts
    UNIQUE (store, name)
);
CREATE TABLE facts (  -- config.*, label.*, metric.*, score.*, tag.*
    record INTEGER NOT NULL,
    key TEXT NOT NULL,
    number REAL,
    text TEXT,
    PRIMARY KEY (record, key)
) WITHOUT ROWID;
CREATE TABLE instances (
    record INTEGER NOT NULL,
    instance_id TEXT NOT NULL,
    name TEXT,
    role TEXT,
    model TEXT,
    status TEXT,
    parent TEXT,
    started INTEGER,
    ended INTEGER,
    seconds REAL,
    calls INTEGER,
    {_SUMS},
    {_TOKENS},
    {_COST},
    error TEXT,
    error_category TEXT,
    PRIMARY KEY (record, instance_id)
) WITHOUT ROWID;
CREATE TABLE usage (  -- each call; of a record that does not list them, what each model was paid for, by instance
    record INTEGER NOT NULL,
    number INTEGER NOT NULL,  -- below 0: a call that several records have, as it counts
    instance_id TEXT,
    model TEXT,
    provider TEXT,
    calls INTEGER,
    {_TOKENS},
    {_COST},
    started INTEGER,  -- of the instance, or else of the record
    role TEXT,  -- of the instance
    agent TEXT,  -- the name of the instance
    fresh INTEGER,  -- input without what was cached
    response INTEGER,  -- the identity of a call: hashes of its response id and of its request id
    request INTEGER,
    client_session TEXT,  -- of the tool that made a metered call, as it named it to the provider
    witness INTEGER,  -- who reported a call: see call_identity.py
    counts INTEGER NOT NULL DEFAULT 1,  -- 0: the call counts elsewhere
    PRIMARY KEY (record, number)
) WITHOUT ROWID;
CREATE TABLE shared_calls (  -- the rows of usage that are of one call, as several records have it
    record INTEGER NOT NULL,
    number INTEGER NOT NULL,
    of_record INTEGER NOT NULL,  -- the row by which the call counts
    of_number INTEGER NOT NULL,
    place INTEGER NOT NULL,  -- among these rows; 0: the most reliable
    PRIMARY KEY (record, number)
) WITHOUT ROWID;
CREATE TABLE unsettled (  -- what was written since it was decided which calls count
    record INTEGER,  -- a new one
    call INTEGER  -- an identity that a record had which is gone
);
CREATE TABLE usage_totals (  -- sums of usage: see usage_totals.py
    dimension TEXT NOT NULL,
    value TEXT NOT NULL,
    slot INTEGER NOT NULL,  -- the hour or day in UTC, counted from 1970; -1: unknown, or before
    model TEXT NOT NULL,  -- empty: unknown
    token_source TEXT NOT NULL,  -- empty: unknown
    mix TEXT NOT NULL,  -- the values of all dimensions, as JSON; empty: they are not told apart
    {", ".join(f"{name} INTEGER NOT NULL" for name in TOTAL_COLUMNS)},
    PRIMARY KEY ({", ".join(TOTAL_KEYS)})
) WITHOUT ROWID;
CREATE TABLE calls (  -- of runs, each once
    record INTEGER NOT NULL,
    number INTEGER NOT NULL,
    started INTEGER,
    model TEXT,
    provider TEXT,
    step TEXT,
    seconds REAL,
    first_token REAL,  -- seconds
    {_TOKENS},
    {_COST},
    cost_source TEXT,
    observer TEXT,
    PRIMARY KEY (record, number)
) WITHOUT ROWID;
CREATE TABLE files (
    record INTEGER NOT NULL,
    is_input INTEGER NOT NULL,
    path TEXT NOT NULL,
    sha256 BLOB NOT NULL,
    PRIMARY KEY (record, is_input, path)
) WITHOUT ROWID;
CREATE TABLE relations (
    record INTEGER NOT NULL,
    type TEXT NOT NULL,
    other_id TEXT NOT NULL,
    sha256 TEXT,
    calls INTEGER,  -- of a run that metered a session: how many of its calls the session has
    PRIMARY KEY (record, type, other_id)
) WITHOUT ROWID;
CREATE TABLE experiments (  -- that have a folder
    host TEXT NOT NULL,
    path TEXT NOT NULL,
    fingerprint TEXT NOT NULL,  -- of its config.yaml
    name TEXT NOT NULL,
    experiment_id TEXT,
    created INTEGER,
    description TEXT,
    PRIMARY KEY (host, path)
) WITHOUT ROWID;
CREATE TABLE projects (  -- that have test plans
    id INTEGER PRIMARY KEY,
    host TEXT NOT NULL,
    path TEXT NOT NULL,
    is_reachable INTEGER NOT NULL DEFAULT 1,
    UNIQUE (host, path)
);
CREATE TABLE plans (
    project INTEGER NOT NULL,
    name TEXT NOT NULL,  -- of its file
    path TEXT NOT NULL,
    fingerprint TEXT NOT NULL,  -- of its file and of its source
    changed INTEGER,  -- when its file was written
    source TEXT,  -- path in the project
    class_name TEXT,
    method TEXT,
    method_type TEXT,
    test_level TEXT,
    status TEXT NOT NULL,  -- fresh, stale or invalid
    reason TEXT,  -- why it is not fresh
    next_agent TEXT NOT NULL,
    is_valid INTEGER NOT NULL,
    is_validated INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    warnings INTEGER NOT NULL,
    text TEXT NOT NULL,  -- what words are searched in, in lower case
    PRIMARY KEY (project, name)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE texts USING fts5(name, summary, errors, labels);  -- its rowid is that of the record
"""
FIRST_ROWS = "INSERT INTO next_record VALUES (1);"

# Made when a store was read: a new catalog is filled faster without them. A list of the newest that pass a filter, and how many
# there are, is read from an index alone. `lists` have what people filter by most.
_LISTED = "cost, known_cost, seconds, calls, tokens"
INDEXES = {
    "records_by_id": "records (record_id)",
    "records_lists": f"records (started DESC, kind, status, model, experiment, {_LISTED})",
    "records_by_cost": "records (cost DESC)",
    "records_of_kind": "records (kind || '')",  # to count some of a kind; lists, which need an order, must not choose it
    "records_by_model": "records (model, started DESC)",
    "records_by_usage": "records (is_counted, last_usage, last_unknown_cost, undated_usage)",
    "records_copied": "records (record_id) WHERE is_copy = 1",
    "records_open": "records (store) WHERE is_open = 1",
    "records_unreadable": "records (path) WHERE problem IS NOT NULL",
    "usage_by_time": "usage (started)",
    "usage_by_response": "usage (response) WHERE response IS NOT NULL",
    "usage_by_request": "usage (request) WHERE request IS NOT NULL",
    "usage_elsewhere": "usage (record) WHERE counts < 1",
    "usage_of_sessions": "usage (client_session) WHERE witness = 1 AND client_session IS NOT NULL",
    "usage_without_ids": "usage (record, number) WHERE response IS NULL AND request IS NULL",
    "shared_calls_by_call": "shared_calls (of_record, of_number)",
    "relations_by_other": "relations (other_id, type)",
    "facts_by_number": "facts (key, number)",
    "facts_by_text": "facts (key, text)",
    "facts_by_value": "facts (key, coalesce(number, text) DESC)",
    "instances_lists": f"instances (started DESC, role, status, model, name, {_LISTED})",
    "instances_by_cost": "instances (cost DESC)",
    "instances_by_tokens": "instances (tokens DESC)",
    "instances_by_duration": "instances (seconds DESC)",
    "instances_by_name": "instances (name, started DESC)",
    "instances_by_model": "instances (model, started DESC)",
    "instances_by_role": "instances (role, started DESC)",
    "instances_by_status": "instances (status, started DESC)",
    "calls_lists": "calls (started DESC, model, provider, step, cost, known_cost, seconds, input, output)",
    "calls_by_cost": "calls (cost DESC)",
    "calls_by_model": "calls (model, started DESC)",
    "files_by_digest": "files (sha256)",
}

# What users ask by SQL. A view keeps its columns and their meaning; a changed one gets another number. Costs are dollars,
# times are texts in UTC, as in documents.
_SHARED = """record_id AS id, r.name, r.path, s.path AS store, s.is_reachable AS reachable, r.is_archived AS archived, r.problem,
    r.status, {started} AS started, {ended} AS ended, r.seconds AS duration_seconds, r.model, r.calls,
    r.input AS input_tokens, r.output AS output_tokens, r.cache_read AS cache_read_tokens,
    r.cache_write AS cache_write_tokens, r.reasoning AS reasoning_tokens, r.token_source,
    r.cost / 1e10 AS cost_usd, r.known_cost / 1e10 AS known_cost_usd, r.at_least, r.host, r.branch,
    r.git_commit AS "commit", r.errors, r.warnings, r.first_error AS error, r.sha256"""
TIME = "strftime('%Y-%m-%dT%H:%M:%fZ', {} / 1000.0, 'unixepoch')"
_RECORD_PART = _SHARED.format(started=TIME.format("r.started"), ended=TIME.format("r.ended"))
_FROM = "FROM records r JOIN stores s ON s.id = r.store"
_USAGE_PART = """calls, {0}.input AS input_tokens, {0}.output AS output_tokens, {0}.cache_read AS cache_read_tokens,
    {0}.cache_write AS cache_write_tokens, {0}.reasoning AS reasoning_tokens, {0}.token_source,
    {0}.cost / 1e10 AS cost_usd, {0}.known_cost / 1e10 AS known_cost_usd, {0}.at_least"""

# A column of the innermost run that has a call, by the name of the row that counts.
RUN_OF_CALL = (
    "SELECT {1} FROM shared_calls o JOIN records p ON p.id = o.record WHERE o.of_record = {0}.record AND o.of_number = {0}.number "
    "AND p.kind = 'run' ORDER BY p.started DESC, p.path, p.id LIMIT 1"
)
_LABELED = "EXISTS (SELECT 1 FROM facts f WHERE f.record = r.id AND substr(f.key, 1, 6) = 'label.')"
_USAGE = (
    "SELECT r.record_id AS record, r.kind, {0}, r.branch, u.instance_id AS instance, u.model, u.provider, "  # noqa: S608
    f"{{1}} AS started, u.{_USAGE_PART.format('u')} FROM usage u JOIN records r ON r.id = u.record"
)
# As `usage_sums.py` finds the experiment of a call.
_EXPERIMENT_OF_CALL = (
    f"CASE WHEN u.number < 0 AND r.kind = 'session' AND NOT {_LABELED} THEN ({RUN_OF_CALL.format('u', 'p.experiment')}) "
    "ELSE r.experiment END AS experiment"
)

VIEWS = {
    "v1_runs": f"SELECT r.{_RECORD_PART}, r.provider, r.experiment, r.experiment_id, r.command, r.exit_code {_FROM} WHERE r.kind = 'run'",
    "v1_sessions": f"SELECT r.{_RECORD_PART}, r.instances, r.failed_instances, r.folder, r.tool {_FROM} WHERE r.kind = 'session'",
    "v1_instances": "SELECT r.record_id AS session, i.instance_id AS id, i.name, i.role, i.model, i.status, i.parent, "  # noqa: S608 - names of our own
    f"{TIME.format('i.started')} AS started, {TIME.format('i.ended')} AS ended, i.seconds AS duration_seconds, "
    f"i.{_USAGE_PART.format('i')}, i.error, i.error_category FROM instances i JOIN records r ON r.id = i.record",
    "v1_usage": f"{_USAGE.format('r.experiment', TIME.format('r.started'))} WHERE u.number >= 0",
    "v1_counted_usage": f"{_USAGE.format(_EXPERIMENT_OF_CALL, TIME.format('u.started'))} WHERE u.counts = 1",
    "v1_calls": f"SELECT r.record_id AS record, r.experiment, {TIME.format('c.started')} AS started, c.model, c.provider, c.step, "  # noqa: S608
    "c.seconds AS duration_seconds, c.first_token AS first_token_seconds, c.input AS input_tokens, c.output AS output_tokens, "
    "c.cache_read AS cache_read_tokens, c.cache_write AS cache_write_tokens, c.reasoning AS reasoning_tokens, c.token_source, "
    "c.cost / 1e10 AS cost_usd, c.known_cost / 1e10 AS known_cost_usd, c.cost_source, c.observer "
    "FROM calls c JOIN records r ON r.id = c.record",
    "v1_values": "SELECT r.record_id AS record, f.key, f.number, f.text FROM facts f JOIN records r ON r.id = f.record",
    "v1_files": "SELECT r.record_id AS record, f.is_input, f.path, lower(hex(f.sha256)) AS sha256 FROM files f "
    "JOIN records r ON r.id = f.record",
    "v1_plans": f"SELECT q.path AS project, p.source, p.class_name AS class, p.method, p.method_type AS type, p.test_level, p.status, "  # noqa: S608
    f"p.reason, p.next_agent AS next, p.is_valid AS valid, p.is_validated AS validated, p.errors, p.warnings, {TIME.format('p.changed')} AS changed, "
    "p.path FROM plans p JOIN projects q ON q.id = p.project",
    "v1_relations": "SELECT r.record_id AS record, x.type, x.other_id, x.sha256 FROM relations x JOIN records r ON r.id = x.record",
}


def exact_select(view: str) -> str:
    """The SELECT of a view, with costs and times in the whole numbers that are stored."""
    before, after = TIME.split("{}")
    return VIEWS[view].replace(" / 1e10", "").replace(before, "").replace(after, "")


# The columns of each table, in the order in which rows are written: what comes before is put there by who writes them.
_TOKEN_COLUMNS = ("input", "output", "cache_read", "cache_write", "reasoning", "token_source")
_COST_COLUMNS = ("cost", "known_cost", "at_least")
PLACE_COLUMNS = ("store", "name", "path", "is_archived", "fingerprint")
RECORD_COLUMNS = (
    *("kind", "record_id", "sha256", "problem", "status", "is_open", "started", "ended", "seconds"),
    *("experiment", "experiment_id", "model", "provider", "calls", "tokens", "known_tokens"),
    *_TOKEN_COLUMNS,
    *_COST_COLUMNS,
    *(
        "instances",
        "failed_instances",
        "command",
        "exit_code",
        "host",
        "branch",
        "git_commit",
        "folder",
        "tool",
        "title",
    ),
    *("errors", "warnings", "first_error", "last_usage", "last_unknown_cost", "undated_usage"),
)
INSTANCE_COLUMNS = (
    *("instance_id", "name", "role", "model", "status", "parent", "started", "ended", "seconds", "calls"),
    *("tokens", "known_tokens"),
    *_TOKEN_COLUMNS,
    *_COST_COLUMNS,
    *("error", "error_category"),
)
USAGE_COLUMNS = (
    *("instance_id", "model", "provider", "calls"),
    *_TOKEN_COLUMNS,
    *_COST_COLUMNS,
    *("started", "role", "agent", "fresh"),
    *("response", "request", "client_session", "witness"),
)
CALL_COLUMNS = (
    *("started", "model", "provider", "step", "seconds", "first_token"),
    *_TOKEN_COLUMNS,
    *_COST_COLUMNS,
    *("cost_source", "observer"),
)
PLAN_COLUMNS = (
    *(
        "name",
        "path",
        "fingerprint",
        "changed",
        "source",
        "class_name",
        "method",
        "method_type",
        "test_level",
    ),
    *("status", "reason", "next_agent", "is_valid", "is_validated", "errors", "warnings", "text"),
)
TEXT_COLUMNS = ("name", "summary", "errors", "labels")

# The tables that have rows of a record, with their columns.
COLUMNS_OF: dict[str, tuple[str, ...]] = {
    "records": ("id", *PLACE_COLUMNS, *RECORD_COLUMNS),
    "facts": ("record", "key", "number", "text"),
    "instances": ("record", *INSTANCE_COLUMNS),
    "usage": ("record", "number", *USAGE_COLUMNS),
    "shared_calls": ("record", "number", "of_record", "of_number", "place"),
    "calls": ("record", "number", *CALL_COLUMNS),
    "files": ("record", "is_input", "path", "sha256"),
    "relations": ("record", "type", "other_id", "sha256", "calls"),
    "texts": ("rowid", *TEXT_COLUMNS),
}

# How sums are added to those that are there; and how those of no parts are removed.
USAGE_TOTALS = "usage_totals"
ADD_TOTALS = (
    f"INSERT INTO {USAGE_TOTALS} ({', '.join((*TOTAL_KEYS, *TOTAL_COLUMNS))}) "  # noqa: S608 - names of our own
    f"VALUES ({', '.join('?' * len((*TOTAL_KEYS, *TOTAL_COLUMNS)))}) ON CONFLICT ({', '.join(TOTAL_KEYS)}) "
    f"DO UPDATE SET {', '.join(f'{name} = {USAGE_TOTALS}.{name} + excluded.{name}' for name in TOTAL_COLUMNS)}"
)
DROP_EMPTY_TOTALS = (
    f"DELETE FROM {USAGE_TOTALS} WHERE {' AND '.join(f'{key} = ?' for key in TOTAL_KEYS)} AND parts = 0"  # noqa: S608
)
