"""The file of signers, compared with OpenSSH where it has the same question."""

import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from runcard.signing.check import SigningTimes, Trust, missing_signers, trust_in
from runcard.signing.private_keys import load_ssh_signer
from runcard.signing.public_keys import PublicKey
from runcard.signing.signers_file import (
    AllowedSigner,
    SignersFile,
    SignersFileError,
    matches,
    parse_revoked,
    parse_signers,
)

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture
def key(ssh_keys: Path) -> str:
    return " ".join((ssh_keys / "ed25519.pub").read_text().split()[:2])


def signers(text: str) -> SignersFile:
    return parse_signers(text, "signers")


def test_names_options_and_comments(key: str) -> None:
    file = signers(
        "# trusted\n\n"
        f"alice@example.org,author {key} a comment\n"
        f'bob namespaces="git,runcard",valid-after="20260101Z",valid-before="202701011530Z" {key}\r\n'
    )
    first, second = file.signers
    assert (first.names, first.namespaces, first.line) == (("alice@example.org", "author"), None, 3)
    assert (second.names, second.namespaces) == (("bob",), ("git", "runcard"))
    assert second.valid_after == datetime(2026, 1, 1, tzinfo=UTC)
    assert second.valid_before == datetime(2027, 1, 1, 15, 30, tzinfo=UTC)


def test_a_time_without_a_zone_is_local(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        (one,) = signers(f'a valid-before="20260101" {key}').signers
    finally:
        monkeypatch.undo()
        time.tzset()
    assert one.valid_before == datetime(2025, 12, 31, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("alice", "expected names, a type and a key"),
        ("alice ssh-ed25519", "expected names, a type and a key"),
        ("alice ssh-ed25519 %%%", "not Base64"),
        ("alice ssh-ed25519 AAAA", "ends too early"),
        ("alice ssh-rsa KEY", "its bytes one of type"),
        ("alice cert-authority ssh-ed25519 KEY", "not supported"),
        ('alice expires="20260101" ssh-ed25519 KEY', "'expires' is not known"),
        ('alice valid-before="tomorrow" ssh-ed25519 KEY', "not of the form"),
        ('alice valid-before="20261399Z" ssh-ed25519 KEY', "does not match|out of range|unconverted"),
        ("alice namespaces ssh-ed25519 KEY", "needs one value"),
        (", ssh-ed25519 KEY", "there is no name"),
    ],
)
def test_a_line_that_is_wrong_is_an_error_with_its_number(key: str, line: str, message: str) -> None:
    text = f"ok {key}\n{line.replace('KEY', key.split()[1])}\n"
    with pytest.raises(SignersFileError, match=message) as refused:
        signers(text)
    assert "signers, line 2" in str(refused.value)


def trusted(text: str, ssh_keys: Path, **times: datetime | None) -> str | None:
    public = load_ssh_signer(str(ssh_keys / "ed25519")).public_key
    return trust_in(public, signers(text), {}, SigningTimes(NOW, None, NOW)._replace(**times)).fault  # type: ignore[arg-type]


def test_validity_without_a_time_stamp(key: str, ssh_keys: Path) -> None:
    assert trusted(f'a valid-before="20270101Z" {key}', ssh_keys) is None
    over = f'a valid-before="20261101Z" {key}'
    # The signer may claim any time: a key that has ended is not trusted without a proof.
    assert "no trusted time-stamp proves" in str(trusted(over, ssh_keys, claimed=NOW - timedelta(days=300)))
    assert trusted(over, ssh_keys, proven=NOW - timedelta(days=30)) is None
    assert "valid until" in str(trusted(over, ssh_keys, proven=NOW))
    assert "valid from" in str(trusted(f'a valid-after="20270101Z" {key}', ssh_keys))
    assert trusted(f'a valid-after="20260101Z" {key}', ssh_keys) is None
    # Nor does it help to claim a time that is still to come.
    assert "valid from" in str(
        trusted(f'a valid-after="20270101Z" {key}', ssh_keys, claimed=NOW + timedelta(days=90))
    )


def test_a_key_for_other_things_only(key: str, ssh_keys: Path) -> None:
    assert "and not for runcard" in str(trusted(f'a namespaces="git,file" {key}', ssh_keys))
    assert trusted(f'a namespaces="run*" {key}', ssh_keys) is None
    assert "and not for runcard" in str(trusted(f'a namespaces="*,!runcard" {key}', ssh_keys))


def test_a_key_in_two_lines_has_the_names_that_hold(key: str, ssh_keys: Path) -> None:
    text = f'old valid-before="20260101Z" {key}\nnew {key}\n'
    public = load_ssh_signer(str(ssh_keys / "ed25519")).public_key
    trust = trust_in(public, signers(text), {}, SigningTimes(NOW, None, NOW))
    assert (trust.is_trusted, trust.names) == (True, ("new",))


def test_a_revoked_key(key: str, ssh_keys: Path) -> None:
    public = load_ssh_signer(str(ssh_keys / "ed25519")).public_key
    revoked = parse_revoked(f"# stolen\n{key} comment\n", "revoked")
    past = NOW - timedelta(days=30)
    trust = trust_in(public, signers(f"a {key}"), revoked, SigningTimes(past, past, NOW))
    assert (trust.is_trusted, trust.fault, trust.names) == (False, "the key is revoked", ("a",))
    for text in ("SSHKRL\n\0\0\0\1", f"{key} since=yesterday"):
        with pytest.raises(SignersFileError, match="revoked, line 1"):
            parse_revoked(text, "revoked")


@pytest.mark.parametrize(
    ("claimed", "proven", "fault"),
    [
        (-30, None, "no trusted time-stamp proves that the signature is older"),
        (-30, -30, None),
        (-30, -5, "revoked since 2026-11-06 12:00 UTC"),
    ],
)
def test_a_key_that_was_revoked_on_a_date(
    key: str, ssh_keys: Path, claimed: int, proven: int | None, fault: str | None
) -> None:
    """Only a time-stamp from before that date keeps a signature trusted, whatever the signature says."""
    public = load_ssh_signer(str(ssh_keys / "ed25519")).public_key
    days = [None if number is None else NOW + timedelta(days=number) for number in (claimed, proven)]
    for text in (f'{key} since="202611061200Z"', f"{key} x since=202611061200Z\n{key} since=20261107Z"):
        trust = trust_in(
            public, signers(f"a {key}"), parse_revoked(text, "revoked"), SigningTimes(days[0], days[1], NOW)
        )
        assert trust.fault is None if fault is None else fault in str(trust.fault)


@pytest.mark.parametrize(
    ("required", "signatures", "missing"),
    [
        (["author"], [("alice", "author")], []),
        (["author", "reviewer"], [("alice", "author"), ("bob", "reviewer")], []),
        (
            ["author", "reviewer"],
            [("alice", "author"), ("alice", "reviewer")],
            ["reviewer"],
        ),  # two keys of one person
        (["alice", "author"], [("alice", "author")], ["author"]),
        (
            ["author", "reviewer"],
            [("alice", "author", "reviewer"), ("bob", "author")],
            [],
        ),  # in the one way that fits
        (["author", "author"], [("alice", "author")], []),
        (["carol@example.org"], [("*@example.org",)], []),
        (["x"], [], ["x"]),
    ],
)
def test_required_signers(required: list[str], signatures: list[tuple[str, ...]], missing: list[str]) -> None:
    assert (
        missing_signers(required, [signed_as(number, *names) for number, names in enumerate(signatures)])
        == missing
    )


def signed_as(number: int, *names: str) -> Trust:
    key = PublicKey("ssh-ed25519", bytes([number]))
    return Trust(key, (AllowedSigner(names, key, None, None, None, number),))


def test_one_key_is_one_person_whatever_its_lines_say() -> None:
    """One key, whose line for Alice has ended, and which is Bob's now: its two signatures are not two people."""
    alice, bob = signed_as(0, "alice", "author"), signed_as(0, "bob", "reviewer")
    assert missing_signers(["author", "reviewer"], [alice, bob]) == ["reviewer"]


@pytest.mark.parametrize("names", ["*,!mallory", "!mallory,*", '"*,!mallory"', "m*,!*y", "mallory,!mallory"])
def test_a_name_that_is_excluded_is_not_that_of_the_key(key: str, names: str) -> None:
    (line,) = signers(f"{names} {key}").signers
    assert missing_signers(["mallory"], [Trust(line.key, (line,))]) == ["mallory"]


@pytest.mark.parametrize(
    "line",
    [
        'alice" namespaces="git" KEY',
        '"alice namespaces="git" KEY',
        'al"ice KEY',
        "KEY alice",
        "!bob KEY",
        'alice valid-after="00010101" KEY',
        'alice valid-before="２０２７０１０１Z" KEY',
    ],
)
def test_a_line_that_openssh_reads_differently_is_an_error(
    key: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        with pytest.raises(SignersFileError):
            signers(line.replace("KEY", key))
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("name", ["runcard", "git", "a[b]", "x"])
@pytest.mark.parametrize("patterns", ["runcard", "run*", "*,!git", "?", "a[b]", "*"])
def test_patterns_are_those_of_openssh(
    ssh_keys: Path, tmp_path: Path, key: str, name: str, patterns: str
) -> None:
    data = tmp_path / "data"
    data.write_bytes(b"x")
    sign = ["ssh-keygen", "-q", "-Y", "sign", "-n", name, "-f", str(ssh_keys / "ed25519"), str(data)]
    subprocess.run(sign, check=True, capture_output=True)
    (tmp_path / "allowed").write_text(f'me namespaces="{patterns}" {key}\n')
    verify = ["ssh-keygen", "-Y", "verify", "-f", str(tmp_path / "allowed"), "-I", "me", "-n", name]
    done = subprocess.run(
        [*verify, "-s", tmp_path / "data.sig"], input=b"x", capture_output=True, check=False
    )
    assert matches(name, tuple(patterns.split(","))) == (done.returncode == 0)
