"""`runcard import`: the documents of an imported session, what is stored of it, and which sessions are imported."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from runcard.cli.sessions import import_ as command
from runcard.operations.sessions.costs import costs
from runcard.operations.sessions.import_sessions import TOOLS, ImportProgress, import_sessions
from runcard.transcripts.sources import SESSION_TOOLS
from runcard.views import imported_figures
from sessions.importing.sample_sessions import (
    AGENT,
    FIRST,
    FORK,
    OTHER,
    SECRET,
    fork,
    other_project,
    reply,
    said,
    session_with_sub_agent,
    text,
)
from transcripts.session_files import OPUS, SONNET, assistant, claude, write

TOOL = "claude-code"


def run(cli: Cli, *arguments: str | Path, code: int = 0) -> dict[str, Any]:
    outcome = cli("import", TOOL, *arguments, "--json")
    assert outcome.code == code, outcome.err
    data: dict[str, Any] = json.loads(outcome.out)
    return data


def stored(path: str | Path, *name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(path, *name, "metadata.json").read_bytes())
    return data


def imported(cli: Cli, home: Path) -> Path:
    data = run(cli, home)
    return Path(data["sessions"][0]["path"])


def test_a_session_becomes_a_record_that_is_valid_and_intact(cli: Cli, tmp_path: Path) -> None:
    session_with_sub_agent(tmp_path / "home")
    data = run(cli, tmp_path / "home")
    (session,) = data["sessions"]
    path = Path(session.pop("path"))
    assert path.parent == Path("artifacts").resolve()
    assert path.name.endswith(f"-{FIRST}")
    cost = session.pop("cost_usd")
    assert cost == session.pop("known_cost_usd") > 0
    assert session == {
        "session": FIRST,
        "tool": TOOL,
        "action": "imported",
        "instances": 2,
        "calls": 5,
        "at_least": True,
        "warnings": [],
    }
    assert (data["unread"], data["unknown_types"]) == ([], {})
    for check in ("verify", "validate"):
        outcome = cli(check, "artifacts")
        assert outcome.code == 0, outcome.out + outcome.err
    assert {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()} == {
        *("SHA256SUMS", "audit.jsonl", "manifest.json", "metadata.json", "summary.md"),
        "instances/main/metadata.json",
        "instances/main/output.log",
        f"instances/main/transcripts/{FIRST}.jsonl",
        f"instances/{AGENT}/metadata.json",
        f"instances/{AGENT}/output.log",
        f"instances/{AGENT}/transcripts/agent-{AGENT}.jsonl",
    }


def test_the_agents_of_a_session_are_its_instances(cli: Cli, tmp_path: Path) -> None:
    session_with_sub_agent(tmp_path / "home")
    path = imported(cli, tmp_path / "home")
    main, agent = stored(path)["instances"]
    assert (main["instance_id"], main["name"], main["role"], main["status"]) == (
        *("main", "main", "general", "completed"),
    )
    assert (main["created_at"], main["terminated_at"]) == ("2026-11-02T10:00:00Z", "2026-11-02T10:05:30Z")
    assert main["terminated_at_source"] == "observed"
    assert main["parent_instance_id"] is None
    assert (main["model"], main["calls"]) == (SONNET, 3)
    assert [(use["model"], use["calls"]) for use in main["models"]] == [(SONNET, 2), (OPUS, 1)]
    assert main["tool_uses"] == {"Agent": 1, "Bash": 1}
    assert main["errors_by_category"] == {"tool_error": 1}
    assert main["tokens"] == {
        "input": 3 * 355,
        "output": 60,
        "cache_read": 900,
        "cache_write": 135,
        "reasoning": None,
    }
    assert (agent["instance_id"], agent["parent_instance_id"]) == (AGENT, "main")
    assert (agent["role"], agent["role_title"]) == ("qa_engineer", "tester")
    assert agent["status"] == "completed"
    assert [(use.get("service_tier"), use["calls"]) for use in agent["models"]] == [
        (None, 1),
        ("batch", 1),
    ]
    assert agent["tool_uses"] == {"Grep": 1}


def test_response_times_are_from_the_last_step_to_the_end_of_the_reply(cli: Cli, tmp_path: Path) -> None:
    session_with_sub_agent(tmp_path / "home")
    path = imported(cli, tmp_path / "home")
    times = stored(path, "instances", "main")["performance"]["response_times"]
    assert times == {"count": 3, "mean": round((3 + 10 + 30) / 3, 6), "p50": 10, "p95": 30, "max": 30}
    times = stored(path, "instances", AGENT)["performance"]["response_times"]
    assert times == {"count": 2, "mean": 6.5, "p50": 4, "p95": 9, "max": 9}


def test_what_the_tool_says_of_the_session_is_kept(cli: Cli, tmp_path: Path) -> None:
    session_with_sub_agent(tmp_path / "home")
    team = stored(imported(cli, tmp_path / "home"))
    assert team["team_session_id"] == FIRST
    assert team["origin_session"] == {
        "tool": TOOL,
        "tool_version": "2.1.197",
        "id": FIRST,
        "folder": "/home/u/shop",
        "branch": "main",
        "started": "2026-11-02T10:00:00Z",
        "ended": "2026-11-02T10:05:30Z",
    }
    assert team["usage_incomplete"]["calls"] is None
    assert team["usage_incomplete"]["calls_not_in_transcripts"]


def test_both_digests_of_a_transcript_are_in_the_record(cli: Cli, tmp_path: Path) -> None:
    session_with_sub_agent(tmp_path / "home")
    path = imported(cli, tmp_path / "home")
    raw = tmp_path / "home" / "projects" / "-home-u-shop" / f"{FIRST}.jsonl"
    copy = path / "instances" / "main" / "transcripts" / raw.name
    source = {
        "path": f"instances/main/transcripts/{raw.name}",
        "source": str(raw),
        "bytes": raw.stat().st_size,
        "sha256": sha256(raw.read_bytes()).hexdigest(),
        "stored_sha256": sha256(copy.read_bytes()).hexdigest(),
    }
    assert source["sha256"] != source["stored_sha256"]
    assert stored(path, "instances", "main")["sources"] == [source]
    assert stored(path)["sources"][0] == source
    assert len(stored(path)["sources"]) == 2
    masked = [json.loads(line) for line in (path / "audit.jsonl").read_bytes().splitlines()]
    assert [line["payload"]["source_sha256"] for line in masked if line["event"] == "file.masked"] == [
        source["sha256"]
    ]


def test_no_secret_reaches_the_disk(cli: Cli, tmp_path: Path) -> None:
    session_with_sub_agent(tmp_path / "home")
    path = imported(cli, tmp_path / "home")
    for file in Path("artifacts").rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file
    assert b"[masked:anthropic-key]" in (path / "instances/main/output.log").read_bytes()
    redactions = stored(path)["audit"]["redactions"]
    assert {(each["rule"], each["where"]) for each in redactions} == {
        ("anthropic-key", "instances/main/output.log"),
        ("anthropic-key", f"instances/main/transcripts/{FIRST}.jsonl"),
    }


def test_secrets_are_kept_on_request_and_the_record_says_so(cli: Cli, tmp_path: Path) -> None:
    session_with_sub_agent(tmp_path / "home")
    data = run(cli, tmp_path / "home", "--keep-secrets")
    path = Path(data["sessions"][0]["path"])
    raw = tmp_path / "home" / "projects" / "-home-u-shop" / f"{FIRST}.jsonl"
    assert (path / "instances/main/transcripts" / raw.name).read_bytes() == raw.read_bytes()
    assert SECRET in (path / "instances/main/output.log").read_text()
    team = stored(path)
    assert team["audit"]["options"]["keep_secrets"] is True
    assert team["sources"][0]["sha256"] == team["sources"][0]["stored_sha256"]


def test_the_log_of_an_agent_can_be_read(cli: Cli, tmp_path: Path) -> None:
    session_with_sub_agent(tmp_path / "home")
    path = imported(cli, tmp_path / "home")
    assert (path / "instances" / AGENT / "output.log").read_text() == (
        "[2026-11-02 10:02:00Z] user\n  search\n\n"
        '[2026-11-02 10:02:04Z] tool use: Grep\n  {"pattern":"x"}\n\n'
        "[2026-11-02 10:03:00Z] tool result: Grep\n  x\n\n"
        "[2026-11-02 10:03:09Z] assistant\n  found\n\n"
    )
    assert "tool result: Bash (failed)" in (path / "instances/main/output.log").read_text()
    outcome = cli("log", path, AGENT)
    assert outcome.code == 0
    assert "[2026-11-02 10:03:09Z] assistant" in outcome.out


def test_the_sum_over_all_sessions_is_what_costs_says_of_the_same_files(cli: Cli, tmp_path: Path) -> None:
    """With a fork, whose first call is that of another session, and a model without a price."""
    home = tmp_path / "home"
    session_with_sub_agent(home)
    fork(home)
    other_project(home)
    data = run(cli, home, code=2)
    expected = costs(TOOL, [str(home)]).totals
    assert sum(session["calls"] for session in data["sessions"]) == expected.calls == 7
    assert sum(Decimal(str(session["known_cost_usd"])) for session in data["sessions"]) == expected.known_cost
    tokens = [stored(session["path"])["resources"]["tokens"] for session in data["sessions"]]
    for name in ("output", "cache_read", "cache_write"):
        assert sum(each[name] for each in tokens) == expected.tokens[name]
    by_id = {session["session"]: session for session in data["sessions"]}
    assert by_id[FORK]["calls"] == 1
    assert stored(by_id[FORK]["path"])["origin_session"]["resumed_from"] == FIRST
    assert by_id[OTHER]["cost_usd"] is None
    assert by_id[OTHER]["warnings"] == ["the price is unknown, or known only in part: claude-of-tomorrow-9"]


def test_calls_of_an_agent_that_is_not_named_are_unattributed(cli: Cli, tmp_path: Path) -> None:
    claude(
        tmp_path, said("Hi", 0), reply("msg_1", 1, text("x")), reply("msg_2", 2, text("y"), isSidechain=True)
    )
    path = imported(cli, tmp_path)
    main, rest = stored(path)["instances"]
    assert (main["instance_id"], main["calls"]) == ("main", 1)
    assert (rest["instance_id"], rest["name"], rest["calls"]) == ("unattributed", "unattributed", 1)
    assert rest["status"] == "completed"


def test_calls_whose_session_has_no_file_are_a_session_of_their_own(cli: Cli, tmp_path: Path) -> None:
    claude(
        tmp_path,
        said("Hi", 0),
        reply("msg_1", 1, text("x")),
        reply("msg_2", 2, text("y"), session=OTHER),
        name=f"{FIRST}.jsonl",
    )
    data = run(cli, tmp_path)
    assert sorted((session["session"], session["calls"]) for session in data["sessions"]) == [
        (FIRST, 1),
        (OTHER, 1),
    ]
    assert cli("verify", "artifacts").code == 0


@pytest.mark.parametrize(
    "name",
    ["../../x", "..", ".hidden", "a/b", "x" * 200, "nul\x00", "sk-ant-api03-" + "k7Wq" * 23 + "AA", "é"],
)
def test_an_id_that_cannot_be_a_file_name_is_replaced_by_its_digest(
    cli: Cli, tmp_path: Path, name: str
) -> None:
    """Of the session, and of a sub-agent."""
    side: dict[str, Any] = {"isSidechain": True, "agentId": name}
    claude(
        tmp_path,
        said("Hi", 0, session=name),
        reply("msg_1", 1, text("x"), session=name),
        reply("msg_2", 2, text("y"), session=name, **side),
        name="odd.jsonl",
    )
    data = run(cli, tmp_path)
    (session,) = data["sessions"]
    digest = f"claude-code-{sha256(name.encode()).hexdigest()[:16]}"
    assert Path(session["path"]).name.endswith(digest)
    team = stored(session["path"])
    assert team["team_session_id"] == digest
    assert [entry["instance_id"] for entry in team["instances"]] == ["main", digest]
    assert cli("verify", "artifacts").code == 0
    assert cli("validate", "artifacts").code == 0


def test_a_session_without_times_has_those_of_its_file(cli: Cli, tmp_path: Path) -> None:
    file = claude(tmp_path, assistant(time=None), name="s-1.jsonl")
    modified = file.stat().st_mtime
    data = run(cli, tmp_path, code=2)
    (session,) = data["sessions"]
    assert session["warnings"] == ["its records have no times: those of its files are used"]
    team = stored(session["path"])
    assert team["labels"] == {"times": "of the file: its records have none"}
    assert abs(datetime.fromisoformat(team["instances"][0]["created_at"]).timestamp() - modified) < 1
    assert datetime.fromisoformat(team["instances"][0]["created_at"]).tzinfo == UTC
    assert cli("verify", "artifacts").code == 0


def test_the_same_session_is_not_stored_twice(cli: Cli, tmp_path: Path) -> None:
    session_with_sub_agent(tmp_path)
    first = imported(cli, tmp_path)
    data = run(cli, tmp_path)
    assert [(each["action"], each["path"]) for each in data["sessions"]] == [("unchanged", str(first))]
    assert [path.name for path in Path("artifacts").iterdir() if path.name[0] != "."] == [first.name]


def test_without_a_path_only_sessions_of_this_directory_are_imported(
    cli: Cli, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_with_sub_agent(home / ".claude")
    here = Path.cwd() / "deep"
    here.mkdir()
    folder = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(here))
    write(
        home / ".claude" / "projects" / folder / f"{OTHER}.jsonl",
        said("Hi", 40, session=OTHER) | {"cwd": str(here)},
        reply("msg_7", 41, text("Hi"), session=OTHER) | {"cwd": str(here)},
    )
    assert [each["session"] for each in run(cli)["sessions"]] == [OTHER]
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    outcome = cli("import", TOOL)
    assert outcome.code == 1
    assert "no session of Claude Code was started in this directory; 2 elsewhere" in outcome.err
    assert "--all" in outcome.err
    assert {each["session"] for each in run(cli, "--all")["sessions"]} == {FIRST, OTHER}


def test_one_session_is_named_by_its_id_or_the_beginning_of_it(cli: Cli, home: Path) -> None:
    session_with_sub_agent(home / ".claude")
    other_project(home / ".claude")
    assert [each["session"] for each in run(cli, "--session", "1111")["sessions"]] == [FIRST]
    assert cli("import", TOOL, "--session", "nothing").code == 1
    fork(home / ".claude")
    write(
        home / ".claude/projects/x/22222222-aaaa-4222-8222-222222222222.jsonl",
        reply("msg_9", 1, text("x"), session="22222222-aaaa-4222-8222-222222222222"),
    )
    outcome = cli("import", TOOL, "--session", "2222")
    assert outcome.code == 1
    assert "2 sessions begin with 2222" in outcome.err


def test_since_leaves_out_sessions_that_ended_before(cli: Cli, tmp_path: Path) -> None:
    session_with_sub_agent(tmp_path)
    other_project(tmp_path)
    data = run(cli, tmp_path, "--since", "2026-11-02T10:30:00+00:00", code=2)
    assert [each["session"] for each in data["sessions"]] == [OTHER]


def test_a_session_in_which_nothing_happened_is_not_stored(cli: Cli, tmp_path: Path) -> None:
    claude(tmp_path, {"type": "summary", "summary": "x", "leafUuid": "y"})
    session_with_sub_agent(tmp_path)
    outcome = cli("import", TOOL, tmp_path)
    assert outcome.code == 0
    assert outcome.err.startswith("1 session imported, 1 empty; ≥ $0.0")
    assert len(outcome.out.splitlines()) == 1


def test_what_cannot_be_read_is_named_and_the_rest_is_imported(cli: Cli, tmp_path: Path) -> None:
    file = claude(
        tmp_path,
        said("Hi", 0),
        b'{"type":"assistant","mess',
        reply("msg_1", 1, text("x")),
        {"type": "novelty"},
    )
    data = run(cli, tmp_path, code=2)
    assert data["sessions"][0]["calls"] == 1
    assert {(each["path"], each["line"]) for each in data["unread"]} == {(str(file), 2)}
    assert data["unknown_types"] == {"novelty": 1}
    outcome = cli("import", TOOL, tmp_path, "--again")
    assert outcome.code == 2
    assert "1 place could not be read" in outcome.err


def test_the_files_of_another_tool_are_named_as_such(cli: Cli, tmp_path: Path) -> None:
    file = claude(tmp_path, said("Hi", 0), reply("msg_1", 1, text("x")))
    outcome = cli("import", "codex", file)
    assert outcome.code == 2
    assert f"hint: these look like files of claude-code: runcard import claude-code {file}\n" in outcome.err


def test_artifacts_that_are_a_file_get_an_error_with_a_hint(cli: Cli, tmp_path: Path) -> None:
    claude(tmp_path, said("Hi", 0), reply("msg_1", 1, text("x")))
    Path("notes.txt").write_text("mine")
    outcome = cli("import", TOOL, tmp_path, "--artifacts", "notes.txt")
    assert outcome.code == 1
    assert "Failed to create artifacts directory: Not a directory; check" in outcome.err
    assert Path("notes.txt").read_text() == "mine"


def test_the_workspace_is_copied_only_on_request(cli: Cli, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("x")
    write(
        tmp_path / "home" / "projects" / "p" / f"{FIRST}.jsonl",
        said("Hi", 0) | {"cwd": str(work)},
        reply("msg_1", 1, text("x")) | {"cwd": str(work)},
    )
    path = imported(cli, tmp_path / "home")
    assert "workspace" not in stored(path, "instances", "main")
    data = run(cli, tmp_path / "home", "--workspaces", "--again")
    path = Path(data["sessions"][0]["path"])
    assert (path / "instances/main/workspace/a.txt").read_text() == "x"
    assert stored(path, "instances", "main")["workspace"]["files_count"] == 1


def test_a_session_in_the_first_version_has_none_of_the_new_fields(cli: Cli, tmp_path: Path) -> None:
    session_with_sub_agent(tmp_path)
    data = run(cli, tmp_path, "--schema", "1.0.0")
    path = Path(data["sessions"][0]["path"])
    assert stored(path)["version"] == "1.0.0"
    assert not {"origin_session", "sources", "usage_incomplete"} & stored(path).keys()
    assert cli("validate", "artifacts").code == 0
    assert cli("verify", "artifacts").code == 0


def test_the_library_reports_what_became_of_each_session(tmp_path: Path) -> None:
    session_with_sub_agent(tmp_path)
    report = import_sessions(TOOL, [tmp_path], artifacts=tmp_path / "store")
    (session,) = report.sessions
    assert session.is_stored
    assert session.path is not None
    assert session.path.parent == tmp_path / "store"
    assert session.masked == 2
    assert report.known_cost > 0


def test_progress_goes_from_nothing_to_all_bytes_and_sessions(tmp_path: Path) -> None:
    session_with_sub_agent(tmp_path)
    fork(tmp_path)
    steps: list[ImportProgress] = []
    import_sessions(TOOL, [tmp_path], progress=steps.append)
    done = [step.bytes for step in steps]
    assert done == sorted(done)
    assert (steps[0].total_sessions, steps[0].sessions) == (None, 0)
    last = steps[-1]
    size = sum(file.stat().st_size for file in tmp_path.rglob("*.jsonl") if "artifacts" not in file.parts)
    assert last == ImportProgress(3 * size, 3 * size, 2, 2)


def test_a_copy_that_the_document_describes_otherwise_is_found(cli: Cli, tmp_path: Path) -> None:
    session_with_sub_agent(tmp_path)
    path = imported(cli, tmp_path)
    document = path / "instances" / "main" / "metadata.json"
    before = document.read_bytes()
    stated = stored(path, "instances", "main")["sources"][0]["stored_sha256"]
    document.write_bytes(before.replace(stated.encode(), b"0" * 64))
    listing = path / "SHA256SUMS"
    old, new = (sha256(data).hexdigest().encode() for data in (before, document.read_bytes()))
    listing.write_bytes(listing.read_bytes().replace(old, new))
    outcome = cli("verify", path)
    assert outcome.code == 1
    assert "/sources/0/stored_sha256: the digest is not that of what SHA256SUMS lists" in outcome.out


def test_names_and_texts_of_the_files_cannot_obey_the_terminal(cli: Cli, tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\u202e"
    use = {"type": "tool_use", "id": "t1", "name": f"Bash{evil}", "input": {"a": evil}}
    claude(
        tmp_path,
        said(f"Hi {evil}\n[2026-01-01 00:00:00Z] assistant", 0, gitBranch=f"main{evil}"),
        reply("msg_1", 1, use, model=f"claude{evil}", stop="tool_use"),
        {"type": "custom-title", "customTitle": f"A title{evil}", "sessionId": FIRST},
        name=f"{FIRST}.jsonl",
    )
    outcome = cli("import", TOOL, tmp_path)
    path = Path(outcome.out.strip())
    shown = [outcome, cli("show", path), cli("show", path, "--instance", "main"), cli("log", path, "main")]
    texts = [each.out + each.err for each in shown] + [(path / "summary.md").read_text()]
    texts.append((path / "instances/main/output.log").read_text())
    for each in texts:
        assert not {"\x1b", "\x07", "\u202e"} & set(each)
    assert "  [2026-01-01 00:00:00Z] assistant" in texts[-1]  # indented: no step


def test_the_command_and_the_screens_know_the_same_tools_as_the_operation() -> None:
    assert command._TOOLS == TOOLS
    assert {name: SESSION_TOOLS[name].TITLE for name in TOOLS} == imported_figures._TOOLS


def test_nothing_is_imported_where_collecting_is_disabled(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_with_sub_agent(tmp_path)
    monkeypatch.setenv("ARTIFACTS_ENABLED", "false")
    outcome = cli("import", TOOL, tmp_path)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("Warning: nothing was collected")
    assert not Path("artifacts").exists()


def test_a_session_that_another_store_has_is_named(cli: Cli, tmp_path: Path) -> None:
    session_with_sub_agent(tmp_path / "home")
    first = imported(cli, tmp_path / "home")
    outcome = cli("import", TOOL, tmp_path / "home", "--artifacts", tmp_path / "other")
    assert outcome.code == 0
    assert f"{FIRST} is also in {first}\n" in outcome.err
    again = cli("import", TOOL, tmp_path / "home", "--artifacts", tmp_path / "other")
    assert (again.code, "also in" in again.err) == (0, False)


def test_a_workspace_is_copied_without_the_stores_in_it(cli: Cli, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "main.py").write_text("print()\n")
    write(
        tmp_path / "home" / "projects" / "p" / f"{FIRST}.jsonl",
        said("Hi", 0, cwd=str(project)),
    )
    run(cli, tmp_path / "home", "--artifacts", project / "artifacts")
    data = run(cli, tmp_path / "home", "--workspaces", "--artifacts", tmp_path / "other")
    workspace = Path(data["sessions"][0]["path"], "instances", "main", "workspace")
    assert [path.name for path in workspace.iterdir()] == ["main.py"]
