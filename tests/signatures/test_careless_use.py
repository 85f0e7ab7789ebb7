"""What people pass by mistake: a key in place of its file, an empty list, a file of another kind."""

import json
from pathlib import Path

import pytest

from conftest import Cli
from runcard.signing.signers_file import parse_signers


@pytest.mark.parametrize("option", ["--key", "--ssh"])
def test_a_private_key_in_place_of_its_path_is_not_printed(
    cli: Cli, run: Path, signers: Path, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = signers.with_name("alice").read_text()
    secret = text.splitlines()[2]
    outcomes = [cli("sign", run, option, text), cli("-v", "verify", run, "--signers", text)]
    monkeypatch.setenv("RUNCARD_SIGNING_KEY", text)
    outcomes += [cli("sign", run), cli("config"), cli("sign", run, "--json")]
    for outcome in outcomes:
        assert outcome.code
        assert secret not in outcome.out + outcome.err
        assert "(a private key)" in outcome.out + outcome.err


def test_whoever_has_only_revoked_keys_is_not_trusted(cli: Cli, run: Path, signers: Path) -> None:
    """Also without a file of signers, where nobody is."""
    for key in ("alice", "bob"):
        assert cli("sign", run, "--key", key).code == 0
    pub = {key: signers.with_name(f"{key}.pub").read_text() for key in ("alice", "bob")}
    (revoked := signers.with_name("revoked")).write_text(pub["alice"])
    assert cli("verify", run, "--revoked", revoked).code == 0
    revoked.write_text(pub["alice"] + pub["bob"])
    outcome = cli("verify", run, "--revoked", revoked)
    assert (outcome.code, "it is signed with revoked keys only [signer]" in outcome.out) == (1, True)


@pytest.mark.parametrize("names", ["", ",", "author,", "author,,reviewer"])
def test_an_empty_name_requires_nothing_and_is_refused(
    cli: Cli, run: Path, signers: Path, names: str
) -> None:
    assert cli("sign", run, "--key", "alice").code == 0
    outcome = cli("verify", run, "--signers", signers, "--require", names)
    assert (outcome.code, "--require has an empty name" in outcome.err) == (64, True)


@pytest.mark.parametrize("name", ['a"b', "*", "x?", "!x", "#x", "a\nmallory ssh-ed25519 AAAA", "a\\"])
def test_a_name_that_would_break_a_file_of_signers_makes_no_key(cli: Cli, here: Path, name: str) -> None:
    assert cli("keygen", "--output", here / "key", "--name", name).code == 64
    assert not list(here.glob("key*"))


def test_a_name_with_a_space_is_one_name(cli: Cli, here: Path) -> None:
    made = json.loads(cli("keygen", "--output", here / "key", "--name", "Alice Smith,author", "--json").out)
    (line,) = parse_signers(made["signers_line"], "signers").signers
    assert line.names == ("Alice Smith", "author")
