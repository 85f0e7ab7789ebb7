"""The file of trusted signers, in the form of OpenSSH's `allowed_signers`.

A line has the name of a person and perhaps roles, options, and a key: `alice@example.org,author valid-before="20270101Z" ssh-ed25519 AAAA…`.
The same file works with `ssh-keygen -Y verify`.
"""

import fnmatch
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from runcard.errors import DocumentError
from runcard.signing.public_keys import PublicKey, parse_key_text
from runcard.signing.ssh_signature import NAMESPACE
from runcard.signing.wire_format import WireFormatError

_KEY_TYPE = r"(?:ssh|ecdsa|sk)-[a-z0-9@.-]+"
_LINE = re.compile(
    r'(?:"([^"]*)"|([^\s"]+))[ \t]+'  # names, in quotes or not
    r'(?:((?:[^\s"]|"(?:[^"\\]|\\.)*")+)[ \t]+)??'  # options
    rf"({_KEY_TYPE})[ \t]+([^\s]+)(?:\s.*)?"  # and a key, perhaps with a comment
)
_OPTION = re.compile(r'\s*([A-Za-z-]+)(?:="((?:[^"\\]|\\.)*)")?\s*(?:,|$)')
_TIME = re.compile(r"([0-9]{8})(?:([0-9]{4})([0-9]{2})?)?(Z?)")


RevokedKeys = Mapping[PublicKey, datetime | None]  # since when; None: signatures of any time are not trusted


class SignersFileError(DocumentError):
    """A file of signers with a line that cannot be read."""


class AllowedSigner(NamedTuple):
    """A line: a key, whose it is, and when it may sign."""

    names: tuple[str, ...]
    key: PublicKey
    namespaces: tuple[str, ...] | None
    valid_after: datetime | None
    valid_before: datetime | None
    line: int

    @property
    def person(self) -> str:
        """The first name; what it does not stand for is none."""
        return next(name for name in self.names if not name.startswith("!"))

    @property
    def is_for_records(self) -> bool:
        """Whether the key may sign records, and not only e-mail or commits."""
        return self.namespaces is None or matches(NAMESPACE, self.namespaces)


class SignersFile(NamedTuple):
    """The trusted signers."""

    path: str
    signers: tuple[AllowedSigner, ...]

    def lines_of(self, key: PublicKey) -> list[AllowedSigner]:
        return [signer for signer in self.signers if signer.key == key]


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether a name matches a list of patterns with `*` and `?`; one with `!` that matches excludes it."""
    found = False
    for pattern in patterns:
        is_negated = pattern.startswith("!")
        if fnmatch.fnmatchcase(name, pattern.removeprefix("!").replace("[", "[[]")):
            if is_negated:
                return False
            found = True
    return found


def parse_signers(text: str, path: str) -> SignersFile:
    """The signers in a file; raises SignersFileError with the number of the first line that is wrong.

    A line that cannot be read is an error, and not skipped: it may be the one that limits a key.
    """
    return SignersFile(path, tuple(_signers(text, path)))


def _signers(text: str, path: str) -> Iterator[AllowedSigner]:
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        try:
            yield _signer(stripped, number)
        except (WireFormatError, ValueError) as error:
            raise SignersFileError(
                f"{path}, line {number}: {error}",
                hint="a line is: NAMES [OPTIONS] TYPE KEY; see `man ssh-keygen`, ALLOWED SIGNERS",
            ) from None


def _signer(line: str, number: int) -> AllowedSigner:
    if re.match(rf"{_KEY_TYPE}\s", line):
        raise ValueError("there is no name before the key: write alice@example.org in front of it")
    match = _LINE.fullmatch(line)
    if match is None:
        raise ValueError("expected names, a type and a key")
    quoted, plain, options, kind, key = match.groups()
    names = tuple(name for name in (quoted or plain or "").split(",") if name)
    if not any(not name.startswith("!") for name in names):
        raise ValueError("there is no name")
    found = _options(options or "")
    namespaces = found.get("namespaces")
    return AllowedSigner(
        names,
        parse_key_text(kind, key),
        None if namespaces is None else tuple(namespaces.split(",")),
        _time(found.get("valid-after")),
        _time(found.get("valid-before")),
        number,
    )


def _options(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    position = 0
    while position < len(text):
        match = _OPTION.match(text, position)
        if match is None:
            raise ValueError(f"the options {text[position:][:40]!r} cannot be read")
        name, value = match[1].lower(), match[2]
        if name == "cert-authority":
            raise ValueError("certificates (cert-authority) are not supported; list the key itself")
        if name not in {"namespaces", "valid-after", "valid-before"}:
            raise ValueError(f"the option {name[:40]!r} is not known")
        if value is None or name in found:
            raise ValueError(f"the option {name} needs one value in quotes")
        found[name] = value
        position = match.end()
    return found


def _time(text: str | None) -> datetime | None:
    """A time as OpenSSH writes it: YYYYMMDD or YYYYMMDDHHMM[SS], in UTC with Z, else in local time."""
    if text is None:
        return None
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"the time {text[:40]!r} is not of the form YYYYMMDD[HHMM[SS]][Z]")
    day, minutes, seconds, zone = match.groups()
    moment = datetime.strptime(day + (minutes or "0000") + (seconds or "00"), "%Y%m%d%H%M%S")  # noqa: DTZ007 - next line
    try:
        return moment.replace(tzinfo=UTC) if zone else moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"the time {text!r} is out of range") from None


def parse_revoked(text: str, path: str) -> RevokedKeys:
    """The keys in a list of revoked keys: a public key on each line, as in a `.pub` file, perhaps with `since="20260301Z"`.

    A key without that, or with another line without that, is not trusted at all.
    """
    keys: dict[PublicKey, datetime | None] = {}
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            key, since = parse_key_text(*[*words, ""][:2]), _since(words[2:])
        except (WireFormatError, ValueError) as error:
            raise SignersFileError(
                f"{path}, line {number}: {error}",
                hint="list one public key on each line; lists in the binary form of OpenSSH (KRL) are not supported",
            ) from None
        earlier = keys.get(key, since)
        keys[key] = None if since is None or earlier is None else min(since, earlier)
    return keys


def _since(words: list[str]) -> datetime | None:
    """The date behind a revoked key. OpenSSH takes it for a comment, and the key for revoked at any time."""
    found = [word for word in words if word.startswith("since=")]
    if not found:
        return None
    return _time(found[0].removeprefix("since=").strip('"'))
