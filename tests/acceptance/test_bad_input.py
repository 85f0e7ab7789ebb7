"""What people and machines put into files. Every case: a finding and exit code 1, no traceback, no hang."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acceptance.command import RUNCARD, TIMEOUT, environment, finished, runcard
from checks import samples
from conftest import Put

_TEAM = samples.written(samples.team())


def _with(**fields: object) -> bytes:
    return samples.written(samples.team() | fields)


def _cycle(length: int) -> bytes:
    data = samples.big_team(length)
    for place, instance in enumerate(data["instances"]):
        instance["parent_instance_id"] = data["instances"][place - 1]["instance_id"]
        instance["children_count"] = 1
    return samples.written(data)


_BAD = {
    "empty": (b"", "json.syntax"),
    "blank": (b" \n\n", "json.syntax"),
    "binary": (bytes(range(256)) * 8, "encoding.utf-8"),
    "NUL": (_TEAM.replace(b"docs-team", b"docs\0team"), "json.syntax"),
    "NUL bytes only": (b"\0" * 4096, "json.syntax"),
    "escaped NUL": (_TEAM.replace(b"docs-team", rb"docs\u0000team"), "id.form"),
    "UTF-16": (_TEAM.decode().encode("utf-16"), "encoding.utf-8"),
    "UTF-16 without a mark": (_TEAM.decode().encode("utf-16-le"), "encoding.utf-8"),
    "Latin-1": (_with(x="Müller").decode().encode("latin-1"), "encoding.utf-8"),
    "a scalar of 10 MB": (b'"' + b"x" * 10_000_000 + b'"', "document.not-an-object"),
    "a number of 10 MB": (b"1" * 10_000_000, "json.too-many-digits"),
    "100,000 levels of lists": (b"[" * 100_000, "json.too-deep"),
    "100,000 levels, closed": (b"[" * 100_000 + b"]" * 100_000, "json.too-deep"),
    "100,000 levels of objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "json.too-deep"),
    "an integer of 5,000 digits": (_with(total_instances=7).replace(b"7", b"7" * 5000), "json.too-many-digits"),
    "an integer of 4,300 digits": (_with(total_instances=7).replace(b" 7,", b" " + b"7" * 4300 + b",") , "count.instances"),
    "a float beyond all": (_TEAM.replace(b"0.5,", b"1e999,"), "json.not-finite"),
    "NaN": (_TEAM.replace(b"0.5,", b"NaN,"), "json.not-finite"),
    "a key twice": (_TEAM.replace(b'"errors"', b'"version"'), "json.duplicate-key"),
    "half of a surrogate pair": (_TEAM.replace(b"docs-team", rb"docs\ud800"), "json.lone-surrogate"),
    "its own parent": (_cycle(1), "parent.cycle"),
    "two parents of each other": (_cycle(2), "parent.cycle"),
    "a cycle of 3,000 parents": (_cycle(3000), "parent.cycle"),
    "cut in the middle": (_TEAM[: len(_TEAM) // 2], "json.syntax"),
    "two documents": (_TEAM * 2, "json.syntax"),
    "a comment": (b"// a team\n" + _TEAM, "json.syntax"),
    "YAML": (b"version: 1.0.0\ninstances:\n  - a\n", "json.syntax"),
    "a list": (b"[]", "document.not-an-object"),
    "a string": (b'"team"', "document.not-an-object"),
    "null": (b"null", "document.not-an-object"),
    "an empty object": (b"{}", "document.unknown-kind"),
}  # fmt: skip


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one call of the real command says about all of them."""
    folder = tmp_path_factory.mktemp("bad")
    for number, (content, _) in enumerate(_BAD.values()):
        (folder / f"{number}.json").write_bytes(content)
    done = runcard("validate", "--json", *(f"{number}.json" for number in range(len(_BAD))), cwd=folder)
    assert (done.code, done.err) == (1, b"")
    documents = json.loads(done.text)["documents"]
    assert len(documents) == len(_BAD)
    return dict(zip(_BAD, documents, strict=True))


@pytest.mark.parametrize("case", _BAD)
def test_bad_input_is_a_finding_that_says_what_and_where(reports: dict[str, Any], case: str) -> None:
    report = reports[case]
    assert report["valid"] is False
    rules = [found["rule"] for found in report["errors"]]
    assert _BAD[case][1] in rules, rules
    for found in report["errors"]:
        assert 0 < len(found["message"]) < 2_000
        assert found["line"] >= 1
        assert found["column"] >= 1


def test_a_cycle_is_told_whole_and_a_long_one_is_shortened(reports: dict[str, Any]) -> None:
    def told(case: str) -> str:
        (found,) = (f for f in reports[case]["errors"] if f["rule"] == "parent.cycle")
        return str(found["message"])

    assert "lead → i-0 → lead" in told("two parents of each other")
    assert "lead → i-2998 → " in told("a cycle of 3,000 parents")
    assert len(told("a cycle of 3,000 parents")) < 2_000


def test_bad_input_is_told_to_people_in_lines_of_bearable_length(put: Put) -> None:
    names = [
        "a scalar of 10 MB",
        "a number of 10 MB",
        "an integer of 5,000 digits",
        "an integer of 4,300 digits",
    ]
    done = runcard("validate", *(put(f"{name}.json", _BAD[name][0]) for name in names))
    assert (done.code, done.out) == (1, b"")
    assert max(map(len, done.messages.splitlines())) < 1_000


def _places(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The way to every list and object in a document, but the document itself."""
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in children:
        if isinstance(child, dict | list):
            yield (*path, key)
            yield from _places(child, (*path, key))


def _replaced(data: Any, place: tuple[str | int, ...], value: object) -> Any:
    inner = data
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    return data


@pytest.mark.parametrize("kind", ["generation", "instance", "manifest", "team"])
def test_a_wrong_value_where_a_list_or_an_object_belongs_is_a_finding_at_every_level(
    put: Put, tmp_path: Path, kind: str
) -> None:
    sample = samples.VALID[kind]
    places = list(_places(sample()))
    wrong: list[object] = ["text", 5, True, [[]], {"x": {}}]
    cases = []
    for place in places:
        for number, value in enumerate(wrong):
            data = _replaced(sample(), place, value)
            name = "-".join(map(str, place)) + f"-{number}.json"
            put(name, data)
            cases.append((name, "/" + "/".join(map(str, place)), value))
    done = runcard("validate", "--kind", kind, "--json", *(name for name, _, _ in cases), cwd=tmp_path)
    documents = {document["path"]: document for document in json.loads(done.text)["documents"]}
    assert len(documents) == len(cases)
    assert done.code == 1
    for name, pointer, value in cases:
        is_plain_input = pointer == "/data_sources/files/0" and isinstance(value, str)  # which is allowed
        if isinstance(value, str | int) and not is_plain_input:
            errors = documents[name]["errors"]
            assert any(e["rule"] == "schema.type" and e["path"].startswith(pointer) for e in errors), name


@pytest.mark.parametrize("value", [b'"text"', b"[]", b"5", b"null", b"{}"])
@pytest.mark.parametrize("key", ["metadata_version", "execution_summary", "instances_index", "archived_runs"])
def test_a_document_of_nothing_but_its_telling_key_is_a_finding(key: str, value: bytes) -> None:
    """In this process: 20 documents are no matter of how a process starts."""
    from runcard.documents.reader import parse_document  # noqa: PLC0415

    report = parse_document(b'{"%s": %s}' % (key.encode(), value)).report
    assert report.kind is not None
    assert report.valid is (key == "archived_runs" and value == b"[]")


@pytest.mark.long
def test_20_000_instances_are_checked(put: Put) -> None:
    path = put("x.json", samples.big_team(20_000))
    done = runcard("validate", path)
    assert (done.code, done.text, done.messages) == (0, f"{path}: valid team 1.0.0\n", "")


def test_every_one_of_2_000_bad_instances_is_reported(put: Put) -> None:
    data = samples.big_team(2_000)
    for instance in data["instances"]:
        instance["role"] = "boss"
    done = runcard("validate", "--json", put("x.json", data))
    assert done.code == 1
    assert len(json.loads(done.text)["documents"][0]["errors"]) == 2_000


def test_a_byte_order_mark_is_a_warning(put: Put) -> None:
    path = put("x.json", b"\xef\xbb\xbf" + _TEAM)
    done = runcard("validate", path)
    assert (done.code, done.text) == (2, f"{path}: valid team 1.0.0\n")
    assert done.messages.startswith(f"Warning: {path}:1:1: the text begins with a byte order mark ")


def test_lines_that_end_as_on_windows_are_good_and_counted_right(put: Put) -> None:
    good = put("good.json", _TEAM.replace(b"\n", b"\r\n"))
    bad = put("bad.json", samples.written(samples.broken_team()).replace(b"\n", b"\r\n"))
    done = runcard("validate", good, bad)
    assert done.text == f"{good}: valid team 1.0.0\n"
    assert f"{bad}:5:22: /total_instances" in done.messages


def test_a_fifo_that_nobody_writes_to_is_an_error_and_no_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.json")
    done = runcard("validate", tmp_path / "fifo.json")
    assert (done.code, done.out) == (1, b"")
    assert "an empty document [json.syntax]" in done.messages


def test_a_socket_and_devices_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.json")
        done = runcard("validate", "socket.json", "/dev/null", "/dev/zero", cwd=tmp_path)
    assert (done.code, done.out) == (1, b"")
    first, second, third = (line for line in done.messages.splitlines() if line.startswith("Error: "))
    assert first.startswith("Error: socket.json: ")
    assert first.endswith("[file.unreadable]")
    assert second == "Error: /dev/null:1:1: expected a value, found an empty document [json.syntax]"
    assert third.startswith("Error: /dev/zero: ")
    assert third.endswith("[encoding.too-big]")


def test_a_file_beyond_the_limit_is_an_error_and_is_not_read_to_its_end(tmp_path: Path) -> None:
    with (tmp_path / "x.json").open("wb") as file:
        file.truncate(1 << 40)  # a hole of a tebibyte
    done = runcard("validate", tmp_path / "x.json")
    assert done.code == 1
    assert "[encoding.too-big]" in done.messages


def test_a_pipe_that_never_ends_is_an_error() -> None:
    endless = subprocess.Popen(["yes"], stdout=subprocess.PIPE)
    try:
        done = subprocess.run(
            [*RUNCARD, "validate", "-"],
            stdin=endless.stdout,
            capture_output=True,
            env=environment(),
            timeout=TIMEOUT,
            check=False,
        )
    finally:
        endless.kill()
        endless.communicate()
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"[encoding.too-big]" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_file_that_grows_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    growing = tmp_path / "x.json"
    growing.write_bytes(b" ")
    grow = (
        "import sys\nwith open(sys.argv[1], 'ab') as f:\n while f.tell() < 3 << 26: f.write(b' ' * (1 << 20))"
    )
    writer = subprocess.Popen([sys.executable, "-c", grow, growing])
    try:
        done = runcard("validate", growing)
    finally:
        writer.kill()
        writer.wait()
    assert (done.code, done.out) == (1, b"")
    assert "[encoding.too-big]" in done.messages or "[json.syntax]" in done.messages


def test_the_output_of_another_command_can_be_named_as_a_file() -> None:
    script = 'runcard() { "$@"; }; exec "$@" <(cat)'
    done = finished(["bash", "-c", script, "bash", *RUNCARD, "validate"], stdin=_TEAM, env=environment())
    assert (done.code, done.err) == (0, b"")
    assert done.text.startswith("/dev/fd/")
    assert done.text.endswith(": valid team 1.0.0\n")


@pytest.mark.parametrize("path", [".", "/dev/null", "fifo.json", "no/such.json", "empty.json"])
def test_migrating_what_is_no_document_is_an_error(tmp_path: Path, path: str) -> None:
    (tmp_path / "empty.json").touch()
    os.mkfifo(tmp_path / "fifo.json")
    done = runcard("migrate", path, "--to", "2.0.0", cwd=tmp_path)
    assert (done.code, done.out) == (1, b"")
    assert done.messages.startswith(f"Error: {path}")
    assert {file.name for file in tmp_path.iterdir()} == {"empty.json", "fifo.json"}
