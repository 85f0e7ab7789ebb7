"""A call of every tool, in an order in which all of them succeed, and the project in which they do."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import runcard
from plans.projects import SOURCE, RubyProject
from sessions.build import make_session

Fields = dict[str, Any]
OUTPUT = b"brown fox\n"


def make_project(folder: Path) -> Path:
    """A project with a run, a session and a plan."""
    ruby = RubyProject(folder / "shop")
    ruby.write()
    with runcard.record(
        ruby.root / "outputs", model="claude-sonnet-4-5", provider="anthropic", strict=True
    ) as run:
        run.add_usage({"input": 1000, "output": 200})
        (run.path / "out.txt").write_bytes(OUTPUT)
    make_session(ruby.root / "artifacts")
    return Path(ruby.root)


def calls() -> Iterator[tuple[str, Fields]]:
    """The name and the arguments of each call. RUN stands for the id of the run that the first call starts."""
    yield "record_run_start", {"model": "claude-sonnet-4-5", "provider": "anthropic"}
    yield "record_run_event", {"run_id": "RUN", "event": "note", "payload": {"text": "hello"}}
    yield "record_run_finish", {"run_id": "RUN"}
    yield "session_start", {"team_session_id": "team-7"}
    yield "instance_start", {"team_session_id": "team-7", "name": "lead"}
    yield "instance_finish", {"team_session_id": "team-7", "agent": "lead"}
    yield "collect_team_artifacts", {"team_session_id": "team-7"}
    yield "list_records", {"limit": 5}
    yield "search_records", {"text": "brown"}
    yield "get_record", {"record": "RUN"}
    yield "read_transcript", {"record": "team-1", "agent": "coder"}
    yield "verify_record", {"record": "team-7"}
    yield "validate_document", {"record": "RUN"}
    yield "diff_records", {"before": "RUN", "after": "RUN"}
    yield "cost_report", {}
    yield "whence", {"digest": "sha256:" + sha256(OUTPUT).hexdigest()}
    yield "plan_status", {"source": SOURCE}
    yield "plan_begin", {"source": SOURCE, "agent": "analyzer"}
    yield "plan_read", {"source": SOURCE}
    yield "plan_validate", {"source": SOURCE}
    yield "list_factories", {}
    written = {"section": "automation", "key": "linter", "value": "rubocop"}
    yield "plan_write_section", {"agent": "polisher", "source": SOURCE, **written}
    yield "plan_mark", {"agent": "polisher", "source": SOURCE}


def with_run(arguments: Fields, run_id: str) -> Fields:
    return {name: run_id if value == "RUN" else value for name, value in arguments.items()}
