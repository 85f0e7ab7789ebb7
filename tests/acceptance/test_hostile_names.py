"""Names from elsewhere: of files, keys and ids. No terminal may act on them, no line may be forged, no text turned."""

import json
import os
from pathlib import Path

import pytest

from acceptance.command import Outcome, runcard, runcard_on_terminal
from checks import samples
from conftest import Put

# What a terminal acts on or hides: control characters of both sets, marks of direction, characters without width.
_HOSTILE = (
    "evil\x1b[31m\x1b]0;title\x07\x08\x7f\x9b2J\x85|\r\n\tError: forged"
    "\u061c\u200b\u200e\u200f\u2028\u202a\u202e\u2066\u2069\ufeff\U000e0041"
)


def _is_harmless(output: bytes) -> bool:
    text = output.decode()  # and it is UTF-8
    return all(character.isprintable() or character == "\n" for character in text)


def _check(done: Outcome) -> None:
    assert _is_harmless(done.out), done.out
    assert _is_harmless(done.err), done.err
    assert b"\nError: forged" not in done.out + done.err


_NAMES = [
    _HOSTILE.encode(),
    b"not-utf-8-\xff\xfe",
    b"surrogate-\xed\xa0\x80",
    "é→😀 with blanks".encode(),
    b"-dash",
    b"back\\slash \"quote' $(id) `id`",
]


@pytest.fixture
def files(tmp_path: Path) -> list[bytes]:
    paths = [os.path.join(os.fsencode(tmp_path), name[:200] + b".json") for name in _NAMES]
    for path in paths:
        with open(path, "wb") as file:
            file.write(samples.written(samples.running_team()))
    return paths


def test_files_of_any_name_are_checked_and_shown_escaped(files: list[bytes], tmp_path: Path) -> None:
    for arguments in (files, [tmp_path]):
        done = runcard("validate", *arguments)
        _check(done)
        assert done.code == 2
        assert done.text.count(": valid team 1.0.0\n") == len(files)
        assert len(done.text.splitlines()) == len(files)
        assert len(done.messages.splitlines()) == 2 * len(files)
        assert r"evil\x1b[31m" in done.text
        assert r"not-utf-8-\xff\xfe.json" in done.text
        assert "é→😀" in done.text


def test_files_of_any_name_stand_in_the_json_report(files: list[bytes]) -> None:
    done = runcard("validate", "--json", *files)
    _check(done)
    paths = [document["path"] for document in json.loads(done.text)["documents"]]
    named = [path for path in paths if os.path.isfile(path)]
    assert len(named) == len(files) - 2  # those that are not UTF-8 cannot be named in JSON
    assert paths[1].endswith(r"not-utf-8-\xff\xfe.json")


def test_files_of_any_name_are_migrated_and_shown_escaped(files: list[bytes]) -> None:
    for arguments in (["--to", "2.0.0"], ["--to", "1.0.0", "--json"], ["--to", "2.0.0", "--dry-run"]):
        done = runcard("migrate", *arguments, "--", *files)
        _check(done)
        assert done.code == (2 if "1.0.0" in arguments else 0)
    assert all(os.path.isfile(path + b".bak.2") for path in files)


def test_missing_files_of_any_name_are_shown_escaped() -> None:
    for command in (["validate"], ["validate", "--json"], ["migrate", "--to", "2.0.0"]):
        done = runcard(*command, "--", *_NAMES)
        _check(done)
        assert done.code == 1


def test_arguments_of_any_kind_are_shown_escaped(put: Put) -> None:
    path, hostile = put("x.json", samples.team()), _HOSTILE.encode()
    for arguments in (
        [hostile],
        ["validate", "--kind", hostile, path],
        ["schema", "team", "--version", hostile],
        ["migrate", path, "--to", hostile],
        ["migrate", path, "--to", "2.0.0", "--timezone", hostile],
        ["migrate", path, "--to", "2.0.0", "--timezone", b"\xff"],
    ):
        done = runcard(*arguments)
        _check(done)
        assert (done.code, done.out) == (64, b"")
        assert done.messages.startswith("Error: ")


def _hostile_documents() -> dict[str, object]:
    """Documents with a hostile text in every place that a message may quote."""
    team, instance = samples.running_team(), samples.instance()
    team["instances"][1] |= {"name": _HOSTILE, "instance_id": _HOSTILE, "parent_instance_id": _HOSTILE}
    team["instances"][0] |= {"role": _HOSTILE, "created_at": _HOSTILE, "status": _HOSTILE}
    team["team_session_id"] = _HOSTILE
    team[_HOSTILE] = _HOSTILE
    instance |= {"children_instance_ids": [_HOSTILE, _HOSTILE]}
    instance["workspace"]["file_types"] = {_HOSTILE: "x"}
    instance["environment"] = {"timezone": _HOSTILE, "language": _HOSTILE}
    manifest = samples.manifest()
    manifest["instances_index"][0]["metadata_file"] = _HOSTILE + "/../x"
    generation = samples.generation()
    generation["checksums"]["config"] = _HOSTILE
    generation["generation"]["status"] = _HOSTILE
    return {
        "team": team,
        "version": samples.team() | {"version": _HOSTILE},
        "instance": instance,
        "manifest": manifest,
        "generation": generation,
        "flat": samples.flat() | {"generated_at": _HOSTILE},
        "flat-0.1.0": samples.flat_0_1_0() | {"timestamp": _HOSTILE},
        "foreign": {_HOSTILE: 1},
        "twice": b'{"%b": 1, "%b": 2}' % ((json.dumps(_HOSTILE)[1:-1].encode(),) * 2),
        "raw": _HOSTILE.encode(),
        "raw-in-object": b"{" + _HOSTILE.encode(),
        "raw-after": b"{} " + _HOSTILE.encode(),
        "string": json.dumps(_HOSTILE).encode(),
    }


def test_texts_from_documents_are_shown_escaped(put: Put) -> None:
    paths = [put(f"{name}.json", document) for name, document in _hostile_documents().items()]
    done = runcard("validate", *paths)
    _check(done)
    assert done.code == 1
    assert r"evil\x1b[31m" in done.messages
    done = runcard("validate", "--json", *paths)
    _check(done)
    assert json.loads(done.text)["valid"] is False


def test_texts_from_documents_are_shown_escaped_by_a_migration(put: Put) -> None:
    flat = samples.flat() | {"generated_at": _HOSTILE, "provider": _HOSTILE, _HOSTILE: _HOSTILE}
    path = put("x.json", json.dumps(flat, indent=2, ensure_ascii=False).encode())
    for arguments in (["--dry-run"], ["--dry-run", "--json"], ["--no-backup"]):
        done = runcard("migrate", path, "--to", "1.0", *arguments)
        _check(done)
        assert done.code == 2


def test_a_terminal_gets_colours_and_nothing_else_that_it_acts_on(put: Put, tmp_path: Path) -> None:
    for name, document in _hostile_documents().items():
        put(f"{name}.json", document)
    put(_HOSTILE[:60].replace("/", "") + ".json", samples.running_team())
    code, seen = runcard_on_terminal("validate", tmp_path)
    assert code == 1
    for sequence in ("\x1b[31m\x1b[1mError:\x1b[0m", "\x1b[33m\x1b[1mWarning:\x1b[0m", "\r\n"):
        assert sequence in seen
        seen = seen.replace(sequence, "")
    assert all(character.isprintable() for character in seen)
