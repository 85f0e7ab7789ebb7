"""The tables of the catalog, for SQLite.

Times are milliseconds since 1970. Costs are whole numbers of 10**-10 dollars, so that sums are exact. Unknown is null.

To change a table, change it here and raise VERSION: a catalog of another version is built anew.
"""

VERSION = 6
APPLICATION_ID = 0x72636174  # "rcat": other SQLite files are never touched
COST_UNIT = 10**10  # of a dollar

_TOKENS = "input INTEGER, output INTEGER, cache_read INTEGER, cache_write INTEGER, reasoning INTEGER, token_source TEXT"
_COST = "cost INTEGER, known_cost INTEGER, at_least INTEGER NOT NULL DEFAULT 0"

TABLES = f"""
CREATE TABLE stores (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    is_reachable INTEGER NOT NULL DEFAULT 1,
    cursor TEXT  -- what the store looked like when it was read last; null: it must be read
);
CREATE TABLE next_record (number INTEGER NOT NULL);  -- the id of the next record: a writer takes as many as it needs
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
    status TEXT,
    started INTEGER,
    ended INTEGER,
    seconds REAL,
    experiment TEXT,
    experiment_id TEXT,
    model TEXT,
    provider TEXT,
    calls INTEGER,
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
    errors INTEGER NOT NULL DEFAULT 0,
    warnings INTEGER NOT NULL DEFAULT 0,
    first_error TEXT,
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
    {_TOKENS},
    {_COST},
    error TEXT,
    error_category TEXT,
    PRIMARY KEY (record, instance_id)
) WITHOUT ROWID;
CREATE TABLE usage (  -- what each model was paid for, by record and instance
    record INTEGER NOT NULL,
    number INTEGER NOT NULL,
    instance_id TEXT,
    model TEXT,
    provider TEXT,
    calls INTEGER,
    {_TOKENS},
    {_COST},
    PRIMARY KEY (record, number)
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
    path TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,  -- of its config.yaml
    name TEXT NOT NULL,
    experiment_id TEXT,
    created INTEGER,
    description TEXT
) WITHOUT ROWID;
CREATE TABLE projects (  -- that have test plans
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    is_reachable INTEGER NOT NULL DEFAULT 1
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

# Made when a store was read: a new catalog is filled faster without them. A list of the newest that pass a filter, and how many
# there are, is read from an index alone. `lists` have what people filter by most.
_LISTED = "cost, known_cost, seconds, calls, input, output"
INDEXES = {
    "records_by_id": "records (record_id)",
    "records_lists": f"records (started DESC, kind, status, model, experiment, {_LISTED})",
    "records_by_cost": "records (cost DESC)",
    "records_by_model": "records (model, started DESC)",
    "facts_by_number": "facts (key, number)",
    "facts_by_text": "facts (key, text)",
    "facts_by_value": "facts (key, coalesce(number, text) DESC)",
    "instances_lists": f"instances (started DESC, role, status, model, name, {_LISTED})",
    "instances_by_cost": "instances (cost DESC)",
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
_TIME = "strftime('%Y-%m-%dT%H:%M:%fZ', {} / 1000.0, 'unixepoch')"
_RECORD_PART = _SHARED.format(started=_TIME.format("r.started"), ended=_TIME.format("r.ended"))
_FROM = "FROM records r JOIN stores s ON s.id = r.store"
_USAGE_PART = """calls, {0}.input AS input_tokens, {0}.output AS output_tokens, {0}.cache_read AS cache_read_tokens,
    {0}.cache_write AS cache_write_tokens, {0}.reasoning AS reasoning_tokens, {0}.token_source,
    {0}.cost / 1e10 AS cost_usd, {0}.known_cost / 1e10 AS known_cost_usd, {0}.at_least"""

VIEWS = {
    "v1_runs": f"SELECT r.{_RECORD_PART}, r.provider, r.experiment, r.experiment_id, r.command, r.exit_code {_FROM} WHERE r.kind = 'run'",
    "v1_sessions": f"SELECT r.{_RECORD_PART}, r.instances, r.failed_instances, r.folder, r.tool {_FROM} WHERE r.kind = 'session'",
    "v1_instances": "SELECT r.record_id AS session, i.instance_id AS id, i.name, i.role, i.model, i.status, i.parent, "  # noqa: S608 - names of our own
    f"{_TIME.format('i.started')} AS started, {_TIME.format('i.ended')} AS ended, i.seconds AS duration_seconds, "
    f"i.{_USAGE_PART.format('i')}, i.error, i.error_category FROM instances i JOIN records r ON r.id = i.record",
    "v1_usage": "SELECT r.record_id AS record, r.kind, r.experiment, r.branch, u.instance_id AS instance, u.model, u.provider, "  # noqa: S608
    f"{_TIME.format('r.started')} AS started, u.{_USAGE_PART.format('u')} FROM usage u JOIN records r ON r.id = u.record",
    "v1_calls": f"SELECT r.record_id AS record, r.experiment, {_TIME.format('c.started')} AS started, c.model, c.provider, c.step, "  # noqa: S608
    "c.seconds AS duration_seconds, c.first_token AS first_token_seconds, c.input AS input_tokens, c.output AS output_tokens, "
    "c.cache_read AS cache_read_tokens, c.cache_write AS cache_write_tokens, c.reasoning AS reasoning_tokens, c.token_source, "
    "c.cost / 1e10 AS cost_usd, c.known_cost / 1e10 AS known_cost_usd, c.cost_source, c.observer "
    "FROM calls c JOIN records r ON r.id = c.record",
    "v1_values": "SELECT r.record_id AS record, f.key, f.number, f.text FROM facts f JOIN records r ON r.id = f.record",
    "v1_files": "SELECT r.record_id AS record, f.is_input, f.path, lower(hex(f.sha256)) AS sha256 FROM files f "
    "JOIN records r ON r.id = f.record",
    "v1_plans": f"SELECT q.path AS project, p.source, p.class_name AS class, p.method, p.method_type AS type, p.test_level, p.status, "  # noqa: S608
    f"p.reason, p.next_agent AS next, p.is_valid AS valid, p.is_validated AS validated, p.errors, p.warnings, {_TIME.format('p.changed')} AS changed, "
    "p.path FROM plans p JOIN projects q ON q.id = p.project",
    "v1_relations": "SELECT r.record_id AS record, x.type, x.other_id, x.sha256 FROM relations x JOIN records r ON r.id = x.record",
}


def exact_select(view: str) -> str:
    """The SELECT of a view, with costs and times in the whole numbers that are stored."""
    before, after = _TIME.split("{}")
    return VIEWS[view].replace(" / 1e10", "").replace(before, "").replace(after, "")


# The columns of each table, in the order in which rows are written: what comes before is put there by who writes them.
_TOKEN_COLUMNS = ("input", "output", "cache_read", "cache_write", "reasoning", "token_source")
_COST_COLUMNS = ("cost", "known_cost", "at_least")
PLACE_COLUMNS = ("store", "name", "path", "is_archived", "fingerprint")
RECORD_COLUMNS = (
    *("kind", "record_id", "sha256", "problem", "status", "started", "ended", "seconds"),
    *("experiment", "experiment_id", "model", "provider", "calls"),
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
    ),
    *("errors", "warnings", "first_error"),
)
INSTANCE_COLUMNS = (
    *("instance_id", "name", "role", "model", "status", "parent", "started", "ended", "seconds", "calls"),
    *_TOKEN_COLUMNS,
    *_COST_COLUMNS,
    *("error", "error_category"),
)
USAGE_COLUMNS = ("instance_id", "model", "provider", "calls", *_TOKEN_COLUMNS, *_COST_COLUMNS)
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
    "calls": ("record", "number", *CALL_COLUMNS),
    "files": ("record", "is_input", "path", "sha256"),
    "relations": ("record", "type", "other_id", "sha256", "calls"),
    "texts": ("rowid", *TEXT_COLUMNS),
}
