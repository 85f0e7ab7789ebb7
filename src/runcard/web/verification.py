"""Verifying with a button, and what was verified since the page was started.

A verdict is remembered with the fingerprint of the record that it is about. Where that changed since, the page says so and shows no
verdict; of a record with very many files it says that it has looked at a part of them.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, NamedTuple

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from runcard.documents.findings import Finding
from runcard.documents.times import format_time
from runcard.errors import StoreError
from runcard.operations.checks.judgement import judge
from runcard.operations.checks.signature_state import SignatureState
from runcard.operations.checks.verify import VerifySummary, verify
from runcard.web.pages import render
from runcard.web.record_address import FOLDERS, AddressedRecord, record_url
from runcard.web.record_files import found_record
from runcard.web.record_fingerprint import RecordFingerprint, take_fingerprint

if TYPE_CHECKING:
    from starlette.requests import Request

    from runcard.encoding import JsonObject
    from runcard.operations.signatures.time_authority import TimePolicy
    from runcard.operations.signatures.trust import TrustPolicy

_MOST_VERDICTS = 10_000
_MOST_AT_ONCE = 2
_PATIENCE = 30.0  # seconds to wait for other verifications
_MOST_FINDINGS = 200  # that are shown


class ReaderTrust(NamedTuple):
    """Whose signatures and time-stamps the reader trusts."""

    signers: "TrustPolicy | None" = None
    authorities: "TimePolicy | None" = None


TRUSTS_NOBODY = ReaderTrust()


class RememberedVerdict(NamedTuple):
    """What `verify` said of a record, and when."""

    time: str
    summary: "JsonObject"  # as --json has it
    findings: tuple[Finding, ...]
    signature: SignatureState = SignatureState()
    signers: tuple[str, ...] = ()  # in words
    times: tuple[str, ...] = ()  # the time-stamps, in words
    has_known_signer: bool = False  # one of them has a name in the file of signers
    is_trusted: bool = False  # and one is trusted
    has_trusted_time: bool = False  # a time-stamp is by an authority that the reader trusts
    is_outdated: bool = False  # the record changed since
    saw_all: bool = True  # whether all of its files were looked at to know that

    @property
    def is_good(self) -> bool:
        return bool(self.summary["intact"] and self.summary["complete"])

    @property
    def shown(self) -> tuple[Finding, ...]:
        return self.findings[:_MOST_FINDINGS]

    @property
    def hidden(self) -> int:
        return max(0, len(self.findings) - _MOST_FINDINGS)


@dataclass
class VerdictMemory:
    """The verdicts since the page was started."""

    trust: ReaderTrust = TRUSTS_NOBODY
    _verdicts: dict[str, tuple[RecordFingerprint, RememberedVerdict]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _at_once: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(_MOST_AT_ONCE))

    def get(self, row: "JsonObject") -> RememberedVerdict | None:
        """The verdict on a record, if there is one; outdated if the record is not the same any more."""
        known = None if row.get("stored_on") else self._verdicts.get(row["path"])
        if known is None:
            return None
        fingerprint, verdict = known
        return verdict._replace(is_outdated=not fingerprint.is_now(), saw_all=fingerprint.is_whole)

    def check(self, found: AddressedRecord) -> RememberedVerdict:
        """Verify a record now."""
        if not self._at_once.acquire(timeout=_PATIENCE):
            raise StoreError("other records are being verified", hint="try again in a minute")
        try:
            record = found.open()
            fingerprint = take_fingerprint(
                record
            )  # before: a change while it is verified counts as one after
            judged = [judge(result, *self.trust) for result in verify(record.path)]
        finally:
            self._at_once.release()
        total = VerifySummary()
        for each in judged:
            total.add(each)
        signers = [signer for each in judged for signer in each.signers]
        times = [time for each in judged for time in each.times]
        verdict = RememberedVerdict(
            format_time(datetime.now(UTC)),
            total.to_dict(),
            tuple(finding for each in judged for finding in each.result.verdict.findings),
            next((each.signature for each in judged if each.result.verdict.records), SignatureState()),
            tuple(signer.describe() for signer in signers),
            tuple(time.describe() for time in times),
            any(signer.names for signer in signers),
            any(signer.is_trusted for signer in signers),
            any(time.is_trusted for time in times),
        )
        with self._lock:
            if len(self._verdicts) >= _MOST_VERDICTS:
                self._verdicts.pop(next(iter(self._verdicts)))
            self._verdicts[found.row["path"]] = fingerprint, verdict
        return verdict


def verify_record(request: "Request") -> Response:
    """Verify a record, and show the verdict."""
    found = found_record(request)
    verdict = request.app.state.verdicts.check(found)
    if request.headers.get("hx-request") != "true":
        return RedirectResponse(record_url(found.row["kind"], found.row["id"], found.row["path"]), 303)
    return render(request, "verdict.html", verdict=verdict, row=found.row)


ROUTES = [Route(f"/{folder}/{{id}}/verify", verify_record, methods=["POST"]) for folder in FOLDERS.values()]
