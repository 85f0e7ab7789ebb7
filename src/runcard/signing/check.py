"""Checking the signatures of envelopes: which key made each, and whether that key is trusted."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from runcard.signing.envelope import Envelope
from runcard.signing.public_keys import PublicKey, UnknownAlgorithmError, verify_plain
from runcard.signing.signers_file import AllowedSigner, RevokedKeys, SignersFile, matches
from runcard.signing.ssh_signature import MAGIC, NAMESPACE, parse_ssh_signature
from runcard.signing.wire_format import WireFormatError

_ED25519_SIGNATURE = 64  # bytes


class CheckedSignature(NamedTuple):
    """What one signature of an envelope proves."""

    key: PublicKey | None  # that made it; None if that is not known
    fault: str | None = None  # why it is wrong; None if it is right
    is_checked: bool = True  # False if it cannot be checked here: its algorithm is not known


def check_signatures(envelope: Envelope, stated_key: PublicKey) -> Iterator[CheckedSignature]:
    """Check each signature of an envelope. A plain signature does not hold its key: it is that which the signer states."""
    data = envelope.signed_bytes
    for signature in envelope.signatures:
        if signature.value.startswith(MAGIC):
            yield _check_ssh(data, signature.value)
        else:
            yield _check_plain(data, signature.value, stated_key)


def _check_ssh(data: bytes, value: bytes) -> CheckedSignature:
    try:
        signature = parse_ssh_signature(value)
        if signature.namespace != NAMESPACE:
            reason = f"it is a signature for {signature.namespace[:80]!r}, and not for {NAMESPACE!r}"
            return CheckedSignature(signature.key, reason)
        if not signature.verify(data):
            return CheckedSignature(signature.key, "the signature is wrong")
    except UnknownAlgorithmError as error:
        return CheckedSignature(None, error.message, is_checked=False)
    except WireFormatError as error:
        return CheckedSignature(None, f"the signature cannot be read: {error.message}")
    return CheckedSignature(signature.key)


def _check_plain(data: bytes, value: bytes, key: PublicKey) -> CheckedSignature:
    if len(value) != _ED25519_SIGNATURE:
        return CheckedSignature(None, "the signature is neither an SSH signature nor one of Ed25519")
    return CheckedSignature(key, None if verify_plain(key, data, value) else "the signature is wrong")


class Trust(NamedTuple):
    """Whether the signature of a key is trusted, by which lines of the file of signers, and why not."""

    key: PublicKey
    lines: tuple[AllowedSigner, ...] = ()  # about the key; if it is trusted, those that allow the signature
    fault: str | None = None  # why it is not trusted; None if it is

    @property
    def is_trusted(self) -> bool:
        return self.fault is None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for line in self.lines for name in line.names))


class SigningTimes(NamedTuple):
    """When a signature was made: what it claims, which its maker could choose, and what somebody else proves."""

    claimed: datetime | None
    proven: datetime | None  # the signature is older than this, says a time-stamp that is trusted
    now: datetime

    @property
    def latest(self) -> datetime:
        return min(self.proven or self.now, self.now)


def trust_in(key: PublicKey, signers: SignersFile, revoked: RevokedKeys, times: SigningTimes) -> Trust:
    """Whether a file of signers trusts the signature of a key.

    A key that is not valid any more is trusted only for a signature that is proven to be older: others may be newer than
    they say.
    """
    lines = tuple(signers.lines_of(key))
    if not lines:
        return Trust(key, (), "the key is not in the file of signers")
    if (fault := revocation_fault(key, revoked, times)) is not None:
        return Trust(key, lines, fault)
    faults = [_fault(line, times) for line in lines]
    good = tuple(line for line, fault in zip(lines, faults, strict=True) if fault is None)
    return Trust(key, good) if good else Trust(key, lines, faults[0])


def revocation_fault(key: PublicKey, revoked: RevokedKeys, times: SigningTimes) -> str | None:
    """Why a signature is not trusted because its key was revoked; None if it was not, or later."""
    if key not in revoked:
        return None
    since = revoked[key]
    if since is None:
        return "the key is revoked"
    if times.latest < since:
        return None
    what = f"the key is revoked since {_shown(since)}"
    return what if times.proven is not None else f"{what}, and {_UNPROVEN}"


_UNPROVEN = "no trusted time-stamp proves that the signature is older"


def _fault(line: AllowedSigner, times: SigningTimes) -> str | None:
    if not line.is_for_records:
        return f"the file of signers allows the key for {', '.join(line.namespaces or ())}, and not for {NAMESPACE}"
    if line.valid_before is not None and times.latest >= line.valid_before:
        what = f"the key is valid until {_shown(line.valid_before)} only"
        return what if times.proven is not None else f"{what}, and {_UNPROVEN}"
    if line.valid_after is not None and min(times.claimed or times.latest, times.latest) < line.valid_after:
        return f"the key is valid from {_shown(line.valid_after)} only"
    return None


def _shown(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M UTC")


def missing_signers(required: Sequence[str], trusted: Iterable[Trust]) -> list[str]:
    """Those of the required names that no trusted signature stands for.

    The first name of a line is the person, the others are roles. A person stands for one required name only, with however
    many keys, and a key for one person only.
    """
    persons = _persons(trusted)
    assigned: dict[int, str] = {}

    def assign(name: str, tried: set[int]) -> bool:
        for index, lines in enumerate(persons):
            if index not in tried and any(matches(name, line.names) for line in lines):
                tried.add(index)
                if index not in assigned or assign(assigned[index], tried):
                    assigned[index] = name
                    return True
        return False

    return [name for name in dict.fromkeys(required) if not assign(name, set())]


def _persons(trusted: Iterable[Trust]) -> list[list[AllowedSigner]]:
    """The lines of each person: those that have the first name in common, or a key."""
    persons: list[tuple[set[object], list[AllowedSigner]]] = []
    for trust in trusted:
        marks: set[object] = {trust.key, *(line.person for line in trust.lines)}
        lines = list(trust.lines)
        for person in [person for person in persons if not marks.isdisjoint(person[0])]:
            persons.remove(person)
            marks |= person[0]
            lines += person[1]
        persons.append((marks, lines))
    return [lines for _, lines in persons]
