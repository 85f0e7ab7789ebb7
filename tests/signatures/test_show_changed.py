"""`runcard show` of a record whose document is not the one that was closed."""

import json
from pathlib import Path

import pytest

from conftest import Cli
from sessions.build import make_session


def test_show_lists_signatures_and_does_not_check_them(cli: Cli, run: Path, signers: Path) -> None:
    assert "Signatures" not in cli("show", run).out
    fingerprints = [
        json.loads(cli("sign", run, *key, "--json").out)["records"][0]["fingerprint"]
        for key in (("--key", signers.with_name("alice")), ("--ssh", signers.with_name("bob")))
    ]
    lines = cli("show", run).out.splitlines()
    place = lines.index("Signatures (not checked; runcard verify does that)")
    assert [line.split()[0] for line in lines[place + 1 :]] == fingerprints
    with (run / "metadata.json.sig").open("ab") as file:
        file.write(b"{}\n")
    shown = json.loads(cli("show", run, "--json").out)["signatures"]
    assert [each["fingerprint"] for each in shown] == [*fingerprints, None]


@pytest.mark.parametrize("name", ["metadata.json", "SHA256SUMS"])
def test_show_says_that_a_record_was_changed(cli: Cli, run: Path, name: str) -> None:
    assert (cli("show", run).code, cli("show", run).err) == (0, "")
    path = run / name
    path.write_bytes(path.read_bytes() + b"\n")
    done = cli("show", run)
    assert done.code == 2
    assert done.err.startswith(f"Warning: {name} was changed")
    assert "runcard verify" in done.err
    assert cli("verify", run).code == 1


def test_show_of_an_amended_or_copied_record_is_no_alarm(cli: Cli, run: Path, here: Path) -> None:
    assert cli("redact", run, "--file", "notes.txt", "--reason", "private", "--yes").code == 0
    assert (cli("show", run).code, cli("show", run).err) == (0, "")
    run.rename(here / "copy")
    assert (cli("show", here / "copy").code, cli("show", here / "copy").err) == (0, "")


def test_show_says_that_a_session_was_changed(cli: Cli, tmp_path: Path) -> None:
    session = make_session(tmp_path / "artifacts", "team-1")
    assert (cli("show", session).code, cli("show", session).err) == (0, "")
    path = session / "metadata.json"
    path.write_bytes(path.read_bytes() + b"\n")
    assert cli("show", session).code == 2
    assert "metadata.json was changed" in cli("show", session).err
