"""Time-stamping authorities: asking one by its URL or by files, and which of them the reader trusts."""

import os
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from runcard.documents.findings import Finding, record_finding
from runcard.documents.times import format_time
from runcard.encoding import JsonObject
from runcard.errors import DocumentError, StoreError, UsageError
from runcard.files import failure, printable, read_file, write_atomic
from runcard.settings import TIMESTAMP_AUTHORITY, TIMESTAMP_CERTIFICATES, read_settings
from runcard.signing.der import DerError
from runcard.signing.timestamp_check import (
    CheckedTimestamp,
    TimestampError,
    check_token,
    load_certificates,
    trusted_root,
)
from runcard.signing.timestamp_token import (
    LARGEST_REPLY,
    TimestampRequest,
    TimestampToken,
    new_request,
    parse_reply,
    parse_request,
)
from runcard.store import layout
from runcard.store.verification.record_timestamps import RecordTimestamp

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

_LARGEST_CERTIFICATES = 1 << 24  # bytes; the bundle of a whole system has 200,000
_LARGEST_REQUEST = 1 << 16  # bytes


class TrustedAuthorities(NamedTuple):
    """The certificates that a reader trusts."""

    file: str
    certificates: "tuple[Certificate, ...]"


def open_authorities(file: str | os.PathLike[str] | None = None) -> TrustedAuthorities | None:
    """The trusted certificates in a file, or in that of the settings; None if none is named."""
    named = None if file is None else os.fspath(file)
    path = read_settings({TIMESTAMP_CERTIFICATES: named})[TIMESTAMP_CERTIFICATES]
    if path is None:
        return None
    data = read_file(path, _LARGEST_CERTIFICATES)
    try:
        return TrustedAuthorities(path, load_certificates(data))
    except TimestampError as error:
        raise UsageError(
            f"{printable(path)}: {error.message}", hint="name a file with certificates as PEM"
        ) from None


class TimestampSource(NamedTuple):
    """Where a time-stamp comes from: a server, or files that somebody carries to one."""

    url: str | None = None
    request: str | None = None  # the file of the request
    response: str | None = None  # the file of the reply
    trusted: TrustedAuthorities | None = None

    @property
    def is_only_request(self) -> bool:
        """Whether the request is written, and the reply comes later."""
        return self.request is not None and self.response is None


def open_source(
    *,
    tsa: str | None = None,
    request: str | None = None,
    response: str | None = None,
    tsa_certs: str | None = None,
) -> TimestampSource:
    """Where to get a time-stamp, by the options of a command and the settings; raises UsageError if they contradict."""
    if tsa is not None and (request is not None or response is not None):
        raise UsageError("--tsa excludes --request and --response", hint="ask a server, or use files")
    trusted = open_authorities(tsa_certs)
    if request is not None or response is not None:
        return TimestampSource(None, request, response, trusted)
    url = read_settings({TIMESTAMP_AUTHORITY: tsa})[TIMESTAMP_AUTHORITY]
    if url is None:
        raise UsageError(
            "no time-stamping authority was named",
            hint="pass --tsa URL, or without network --request FILE, and then --response FILE",
        )
    from runcard.signing.timestamp_server import shown_address  # noqa: PLC0415 - not with files

    shown_address(url)
    return TimestampSource(url, None, None, trusted)


def write_request(path: str, imprint: bytes) -> None:
    """Write a request for a time-stamp to a new file."""
    try:
        write_atomic(path, new_request(imprint).to_bytes(), replace=False)
    except FileExistsError:
        raise StoreError(
            f"{printable(path)} exists already",
            hint="name another file; to add the reply to it, pass --response FILE",
        ) from None
    except OSError as error:
        raise failure(error, path, "write") from error


def get_reply(source: TimestampSource, imprint: bytes) -> bytes:
    """The reply of the authority, as it came; raises an error for a reply to another request."""
    if source.response is not None:
        reply = _read(source.response, LARGEST_REPLY)
        if source.request is not None:
            _check_answer(parse_token(reply, source.response), _request_in(source.request), source.response)
        return reply
    from runcard.signing.timestamp_server import send_request, shown_address  # noqa: PLC0415 - as above

    url = source.url or ""
    request = new_request(imprint)
    reply = send_request(url, request.to_bytes())
    _check_answer(parse_token(reply, shown_address(url)), request, shown_address(url))
    return reply


def parse_token(reply: bytes, place: str) -> TimestampToken:
    """The token in a reply; raises StoreError that names where it is from."""
    try:
        return parse_reply(reply)
    except DerError as error:
        raise StoreError(f"{printable(place)}: {printable(error.message)}", hint=_ANOTHER) from None


_ANOTHER = "ask the authority again, or another one"


def _check_answer(token: TimestampToken, request: TimestampRequest, place: str) -> None:
    if token.imprint != request.imprint:
        raise StoreError(f"{printable(place)}: the time-stamp is about something else", hint=_ANOTHER)
    if token.nonce != request.nonce:
        raise StoreError(
            f"{printable(place)}: the reply is to another request (its nonce differs)", hint=_ANOTHER
        )
    if request.policy is not None and token.policy != request.policy:
        raise StoreError(
            f"{printable(place)}: the time-stamp has the policy {token.policy}, not {request.policy}",
            hint=_ANOTHER,
        )


def _request_in(path: str) -> TimestampRequest:
    try:
        return parse_request(_read(path, _LARGEST_REQUEST))
    except DerError as error:
        raise StoreError(
            f"{printable(path)} is not a request for a time-stamp: {error.message}",
            hint="name the file that --request wrote",
        ) from None


def _read(path: str, most: int) -> bytes:
    return read_file(path, most)


class AcceptedTimestamp(NamedTuple):
    """A time-stamp that is worth keeping."""

    checked: CheckedTimestamp
    root: str | None  # the trusted certificate that the authority's leads to; None if no file names any

    def to_dict(self) -> JsonObject:
        token = self.checked.token
        return {
            "time": format_time(token.latest),
            "authority": printable(self.checked.authority),
            "policy": token.policy,
            "serial": f"{token.serial:x}",
            "trusted": None if self.root is None else True,
        }


def accept(reply: bytes, source: TimestampSource) -> AcceptedTimestamp:
    """Check a reply before it is kept; raises StoreError if it proves nothing, or if its authority is not trusted."""
    place = source.response or source.url or ""
    token = parse_token(reply, place)
    try:
        checked = check_token(token)
        root = trusted_root(checked, source.trusted.certificates) if source.trusted else None
    except DocumentError as error:
        raise StoreError(
            f"the time-stamp is not accepted: {printable(error.message)}", hint=_ANOTHER
        ) from None
    return AcceptedTimestamp(checked, root)


class JudgedTimestamp(NamedTuple):
    """A time-stamp that is right, and whether its authority is trusted."""

    timestamp: RecordTimestamp
    is_trusted: bool | None  # None without a file of certificates
    fault: str | None = None  # why it is not trusted
    file: str | None = None  # that trusts it

    def to_dict(self) -> JsonObject:
        return {
            "time": format_time(self.timestamp.latest),
            "authority": printable(self.timestamp.authority),
            "trusted": self.is_trusted,
            "reason": self.fault,
            "signatures": self.timestamp.signatures,
            "anchor": self.timestamp.anchor,
        }

    def describe(self) -> str:
        """When and by whom, in words."""
        stamp = self.timestamp
        by_anchor = f", in the anchor {printable(stamp.anchor)}" if stamp.anchor else ""
        trust = f", not trusted: {self.fault}" if self.fault else f", trusted by {printable(self.file or '')}"
        if self.is_trusted is None:
            trust = ", not checked against certificates that you trust"
        name = printable(stamp.authority)
        if not self.is_trusted:  # anyone can write anything into a certificate
            name = f'"{name[:80]}"'
        return f"{format_time(stamp.latest)} at the latest, by {name}{by_anchor}{trust}"


class TimePolicy:
    """The authorities that a reader trusts, and whether each record needs a time-stamp of one of them."""

    def __init__(self, trusted: TrustedAuthorities | None = None, *, is_required: bool = False) -> None:
        if is_required and trusted is None:
            raise UsageError(
                "--require-timestamp needs certificates that you trust",
                hint="pass them with --tsa-certs FILE",
            )
        self._trusted = trusted
        self._is_required = is_required
        self._roots: dict[
            bytes, str | None
        ] = {}  # why a reply is not trusted; that of an anchor is for many records

    def judge(self, timestamps: Sequence[RecordTimestamp]) -> list[JudgedTimestamp]:
        """The time-stamps of a record, oldest first."""
        return [self._judgement(each) for each in sorted(timestamps, key=lambda stamp: stamp.latest)]

    def _judgement(self, timestamp: RecordTimestamp) -> JudgedTimestamp:
        if self._trusted is None:
            return JudgedTimestamp(timestamp, None)
        if timestamp.reply not in self._roots:
            self._roots[timestamp.reply] = self._fault(timestamp.reply, self._trusted)
        fault = self._roots[timestamp.reply]
        return JudgedTimestamp(timestamp, fault is None, fault, self._trusted.file)

    def _fault(self, reply: bytes, trusted: TrustedAuthorities) -> str | None:
        try:
            trusted_root(check_token(parse_reply(reply)), trusted.certificates)
        except DocumentError as error:
            return printable(error.message)
        return None

    def findings(self, record: str, judged: Sequence[JudgedTimestamp]) -> list[Finding]:
        """What a record lacks: a time-stamp of an authority that is trusted."""
        if self._trusted is None or any(each.is_trusted for each in judged):
            return []
        if judged:
            message = "no time-stamp is by a trusted authority"
        elif self._is_required:
            message = "it is not time-stamped"
        else:
            return []
        return [record_finding("authority", record, layout.TIMESTAMPS, message)]


def proven_time(judged: Sequence[JudgedTimestamp], signature: int) -> datetime | None:
    """The time by which a signature existed, by the number of its line; None if no trusted time-stamp covers it."""
    times = [
        each.timestamp.latest for each in judged if each.is_trusted and each.timestamp.signatures >= signature
    ]
    return min(times, default=None)
