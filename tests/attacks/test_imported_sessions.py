"""Session files that are to push an import out of the store: other messages under the same id, or at another path."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from transcripts.opencode_files import OpenCodeDatabase, text


def actions(cli: Cli, tool: str, path: Path, *options: str) -> tuple[int, list[str]]:
    result = cli("import", tool, path, *options, "--json")
    return int(result.code), [each["action"] for each in json.loads(result.out)["sessions"]]


def logs(here: Path) -> str:
    """What all agents of all imports said."""
    return "".join(path.read_text() for path in sorted((here / "artifacts").glob("*/instances/*/output.log")))


def database(folder: Path, words: str) -> OpenCodeDatabase:
    made = OpenCodeDatabase(folder)
    made.session("ses_1")
    made.message("m1", "ses_1", 1, text(words))
    made.message("m2", "ses_1", 2, text(f"{words}: done", 3), finish="stop")
    return made


def test_other_messages_under_the_same_ids_replace_nothing(cli: Cli, here: Path) -> None:
    made = database(here / "opencode", "the truth")
    assert actions(cli, "opencode", made.path) == (0, ["imported"])
    made.execute("UPDATE part SET data = replace(data, 'the truth', 'something else')")
    assert actions(cli, "opencode", made.path) == (2, ["kept"])
    assert "the truth" in logs(here)
    assert actions(cli, "opencode", made.path, "--again") == (0, ["imported"])
    assert "the truth" in logs(here)
    assert "something else" in logs(here)


def test_a_session_that_goes_on_replaces_its_import(cli: Cli, here: Path) -> None:
    """Its title and the times of its messages change, and a tool that was at work has ended."""
    made = database(here / "opencode", "the truth")
    made.execute(
        "INSERT INTO part VALUES ('m2-7', 'm2', 'ses_1', 7, 7, ?)",
        json.dumps(
            {"type": "tool", "tool": "bash", "callID": "c1", "state": {"status": "running", "input": {}}}
        ),
    )
    assert actions(cli, "opencode", made.path) == (0, ["imported"])
    done = {"status": "completed", "input": {"command": "ls"}, "output": "a.txt", "title": "ls"}
    made.execute(
        "UPDATE part SET data = ? WHERE id = 'm2-7'",
        json.dumps({"type": "tool", "tool": "bash", "callID": "c1", "state": done}),
    )
    made.execute("UPDATE session SET title = 'Another title', time_updated = time_updated + 5")
    made.message("m3", "ses_1", 20, text("more", 21), finish="stop")
    assert actions(cli, "opencode", made.path) == (0, ["replaced"])
    assert len(list((here / "artifacts").glob("*/metadata.json"))) == 1


def test_a_longer_session_in_another_database_replaces_nothing(cli: Cli, here: Path) -> None:
    made = database(here / "opencode", "the truth")
    assert actions(cli, "opencode", made.path) == (0, ["imported"])
    for words in ("the truth", "something else"):
        other = database(here / words.partition(" ")[0], words)
        other.message("m3", "ses_1", 20, text("more", 21), finish="stop")
        assert actions(cli, "opencode", other.path) == (2, ["kept"])
    assert actions(cli, "opencode", made.path) == (0, ["unchanged"])


def test_a_database_that_computes_what_it_has_is_not_read(cli: Cli, here: Path) -> None:
    made = database(here / "opencode", "the truth")
    made.execute(
        "ALTER TABLE message ADD COLUMN extra text GENERATED ALWAYS AS (printf('%.*c', 1000000, 'x'))"
    )
    result = cli("import", "opencode", made.path)
    assert "the table message has computed columns" in result.out + result.err


def test_a_long_chain_of_parents_ends_with_an_error(
    cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an index, each step up or down reads the whole table."""
    monkeypatch.setattr("runcard.transcripts.opencode.database._FEWEST_STEPS", 2_000_000)
    made = database(here / "opencode", "the truth")
    made.execute("DROP INDEX session_parent_idx")
    made.execute(
        "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)"
        " INSERT INTO session SELECT 'ses_' || i, 'p', 'ses_' || (i - 1), '/x', 't', '1', NULL, 'a', NULL, i, i FROM n"
    )
    result = cli("import", "opencode", made.path)
    assert "more work than its size justifies" in result.out + result.err


def test_doctor_reads_only_so_much_of_a_database(
    cli: Cli, here: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.setattr("runcard.transcripts.opencode.database._FEWEST_STEPS", 50_000)
    monkeypatch.setattr("runcard.transcripts.opencode.database._STEPS_OF_BYTE", 0)
    made = OpenCodeDatabase(home / "data/opencode")
    made.execute("DROP TABLE session")
    made.execute("CREATE TABLE session (id TEXT)")
    made.execute(
        "INSERT INTO session WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 20000) SELECT 'ses_' || id FROM n"
    )
    result = cli("doctor", "--json")
    assert "the database cannot be read: reading it takes more work than its size justifies" in result.out, (
        here
    )


def claude(file: Path, *messages: str, session: str = "11111111-1111-4111-8111-111111111111") -> Path:
    lines: list[dict[str, Any]] = [
        {
            "type": "user", "sessionId": session, "uuid": f"u-{words}", "cwd": "/home/u", "timestamp": f"2026-11-02T10:00:{second:02}Z",
            "message": {"role": "user", "content": words},
        }
        for second, words in enumerate(messages)
    ]  # fmt: skip
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


@pytest.mark.parametrize("name", ["other", "11111111-1111-4111-8111-111111111111"])
def test_a_file_with_more_at_another_path_replaces_nothing_and_is_not_unchanged(
    cli: Cli, here: Path, name: str
) -> None:
    own = claude(here / "p/11111111-1111-4111-8111-111111111111.jsonl", "one", "two")
    assert actions(cli, "claude-code", own) == (0, ["imported"])
    longer = claude(here / f"elsewhere/{name}.jsonl", "one", "two", "three")
    result = cli("import", "claude-code", longer)
    assert (result.code, "is at another path" in result.err) == (2, True)
    assert "three" not in logs(here)
    same = claude(here / f"same/{name}.jsonl", "one", "two")
    assert actions(cli, "claude-code", same) == (0, ["unchanged"])
    assert actions(cli, "claude-code", longer, "--again") == (0, ["imported"])
    assert "three" in logs(here)


def test_a_file_of_its_own_does_not_replace_what_was_imported_from_another(cli: Cli, here: Path) -> None:
    other = claude(here / "p/other.jsonl", "the truth")
    assert actions(cli, "claude-code", other) == (0, ["imported"])
    own = claude(here / "q/11111111-1111-4111-8111-111111111111.jsonl", "something else")
    assert actions(cli, "claude-code", own) == (2, ["kept"])
    assert "the truth" in logs(here)
