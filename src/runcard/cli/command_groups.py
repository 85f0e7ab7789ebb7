"""Every command: its group in the root help, its module, and its one-line help. The only table of commands.

To add a command, add a line; to move it to another group of the root help, move its line. The module is relative to
`runcard.cli` and has a click command (or a group of commands) called `command`. Imports nothing: `runcard --help` is
printed from here, without click.
"""

GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Record": {
        "run": ("runs.run", "Run a command and record it."),
        "rerun": ("runs.rerun", "Run a recorded command again and compare."),
        "close": ("runs.close", "Close runs and sessions whose process died."),
        "log-metric": ("runs.log_metric", "Log a value of a metric, inside a recorded command."),
        "session": ("sessions.live", "Record a session while it works, from a shell."),
        "collect": ("sessions.collect", "Collect the work of a team of agents into a session."),
        "import": ("sessions.import_", "Store the sessions of agent tools, such as Claude Code."),
        "experiment": ("experiments", "Create, list, show and delete experiments."),
    },
    "Inspect": {
        "serve": ("serve", "Show the records as a page in your browser."),
        "ls": ("catalog.ls", "List and filter runs, sessions and agents of all stores."),
        "show": ("checks.show", "Show a run or a session on one screen."),
        "diff": ("checks.diff", "Show how two records differ."),
        "log": ("sessions.log", "Print the output of a run or of an agent."),
        "costs": ("sessions.costs", "Add up the costs of records, or of session files."),
        "query": ("catalog.query", "Query the catalog with SQL."),
        "whence": ("catalog.whence", "Find the run that made a file, by its content."),
        "ledger": ("checks.ledger", "Print the history of a store."),
        "index": ("catalog.index", "Update the catalog that `ls` and others search."),
    },
    "Check": {
        "verify": ("checks.verify", "Check that records have not changed since they were closed."),
        "sign": ("signatures.sign", "Sign records."),
        "keygen": ("signatures.keygen", "Make a key to sign with."),
        "timestamp": ("signatures.timestamp", "Let an authority confirm when records existed."),
        "anchor": ("signatures.anchor", "Time-stamp all records of a store at once."),
        "validate": ("checks.validate", "Check documents against their schema and rules."),
        "schema": ("checks.schema", "Print a published JSON Schema."),
    },
    "Maintain": {
        "amend": ("amendments.amend", "Add a note, tag, evaluation or approval."),
        "redact": ("amendments.redact", "Remove files or secrets from a closed record."),
        "migrate": ("amendments.migrate", "Convert documents to another version of their format."),
        "archive": ("archives.archive", "Pack old records into archives."),
        "extract": ("archives.extract", "Extract files from an archive."),
        "restore": ("archives.restore", "Restore an archived record."),
        "rm": ("archives.rm", "Delete one record."),
        "prune": ("archives.prune", "Delete old records and archives."),
        "export": ("runs.export", "Write a bundle, a table, or records for other tools."),
        "import-bundle": ("runs.import_bundle", "Unpack a bundle made by `runcard export`."),
    },
    "Plans": {
        "plan": ("plans", "Write and check test plans for Ruby code."),
    },
    "Set up": {
        "install": ("agents.install", "Let Claude Code and other agent tools record themselves."),
        "uninstall": ("agents.uninstall", "Undo `runcard install`."),
        "hook": ("agents.hook", "Note an event of an agent tool. Hooks run this."),
        "doctor": ("checks.doctor", "Show what needs attention: sessions deleted soon, dead runs."),
        "mcp": ("mcp", "Serve records and plans to agents (MCP server)."),
        "config": ("checks.config", "Show every setting and its source."),
        "completion": ("completion", "Print the completion script for your shell."),
        "demo": ("demo", "Take a guided tour: no network, no API keys."),
    },
}

COMMANDS: dict[str, str] = {
    name: about for commands in GROUPS.values() for name, (_, about) in commands.items()
}

SYNONYMS = {  # words that people try, and the command that does it; only for the hint
    **dict.fromkeys(("record", "exec", "start"), "run"),
    **dict.fromkeys(("recover", "resume", "stop"), "close"),
    **dict.fromkeys(("search", "find", "runs", "sessions", "metrics"), "ls"),
    "compare": "diff",
    **dict.fromkeys(("tokens", "usage", "spend", "report", "stats"), "costs"),
    "sql": "query",
    **dict.fromkeys(("origin", "lineage", "provenance", "trace"), "whence"),
    "history": "ledger",
    **dict.fromkeys(("check", "audit"), "verify"),
    **dict.fromkeys(("tag", "note", "annotate", "score"), "amend"),
    **dict.fromkeys(("delete", "remove"), "rm"),
    **dict.fromkeys(("clean", "gc"), "prune"),
    "setup": "install",
    "server": "mcp",
    **dict.fromkeys(("web", "ui", "page", "browse", "dashboard"), "serve"),
    **dict.fromkeys(("settings", "set"), "config"),
    "status": "doctor",
}

ABOUT = "Record AI runs; show, verify and archive the records."
EXAMPLE = "runcard run -- python generate.py"
EXITS = "Exit codes: 0 success, 1 error or failed check, 2 warnings, 64 wrong usage."

OPTIONS = {
    "-q, --quiet": "Print no progress and no success messages.",
    "-v, --verbose": "Print more details; with an error, its traceback.",
    "-V, --version": "Show the version and exit.",
    "-h, --help": "Show this message and exit.",
}


def module_of(command: str) -> str:
    """The module of a command."""
    return next(f"runcard.cli.{group[command][0]}" for group in GROUPS.values() if command in group)


def root_help() -> str:
    """The output of `runcard --help`, made without click. A test compares it with what click prints."""
    width = max(map(len, COMMANDS))
    groups = "\n".join(
        f"{title}:\n" + "".join(f"  {name:<{width}}  {about}\n" for name, (_, about) in commands.items())
        for title, commands in GROUPS.items()
    )
    options = "".join(f"  {names:<13}  {about}\n" for names, about in OPTIONS.items())
    return (
        f"Usage: runcard [OPTIONS] COMMAND [ARGS]...\n\n  {ABOUT}\n\n"
        f"Options:\n{options}\n{groups}\n  Example:\n    {EXAMPLE}\n\n  {EXITS}\n"
    )
