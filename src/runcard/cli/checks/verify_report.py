"""The report of `runcard verify`, for the person who got the records: all of it on stdout, with a tally.

Only a path at which there is no record is an error of the command, on stderr.

A record has four verdicts: intact, complete, signed, time-stamped. At the end stands what each of them does not prove.
"""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from runcard.cli.exit_codes import ExitCode, code_for_severity
from runcard.cli.printing import say, say_done
from runcard.documents.run.input_state import EQUAL
from runcard.files import printable
from runcard.store import layout
from runcard.store.record import SESSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runcard.cli.batch import Batch
    from runcard.documents.findings import Finding
    from runcard.operations.checks.judgement import Judgement
    from runcard.operations.checks.signature_state import SignatureState
    from runcard.operations.checks.verify_result import Verified
    from runcard.operations.signatures.time_authority import JudgedTimestamp
    from runcard.operations.signatures.trust import JudgedSignature
    from runcard.store.verification import Verdict

_INTACT = "Intact means that nothing was changed since closing, except by amendments. This does not prove that the content is true."
_COMPLETE = "Complete means that nothing is missing in a record. This does not prove that there were no other records."
_SIGNED = "Signed means that somebody with the key of the signer signed a record; {file} says whose it is. This does not prove when."
_UNKNOWN_KEY = "Signed with a key that nobody vouches for here: anyone can make one. Name the keys that you trust with --signers FILE."
_NOT_SIGNED = "Not signed: anyone able to write to this folder, its sender included, could have forged it."
_CHANGED_SINCE = "Changes after a signature are not signed: anyone able to write to this folder could have made them, in any name."
_NOT_CHECKED = "Not checked: a signature or a time-stamp proves nothing until it is checked."
_TIMESTAMPED = "Time-stamped means that a record existed by then, says an authority that you trust. This does not prove who made it, nor how old it was."
_UNKNOWN_AUTHORITY = "Time-stamped by an authority that nobody vouches for here: anyone can be one. Name the certificates that you trust with --tsa-certs FILE."
_NOT_TIMESTAMPED = "Not time-stamped: the only evidence of the date is the recorder's own clock."


class VerifyReport:
    """The lines about all records, in the order in which they are added; then those about all of them together."""

    def __init__(self, batch: "Batch", signers: str | None) -> None:
        self._batch = batch
        self._file = signers
        self._sentences: set[str] = set()

    def add(self, judgement: "Judgement") -> None:
        """The verdict on a record: at once if it is good, at the end if it failed."""
        result, signers, times, signature = judgement
        verdict = result.verdict
        for state in result.inputs or ():
            if state.state != EQUAL:
                self._batch.report_warning(f"{result.path}: {state.describe()}")
        if _code_of(verdict) == ExitCode.FAILED:
            earlier = _proof_lines(signers, times, _since(verdict))
            self._add_failed(result, signature, [*earlier, *_input_lines(result)])
            return
        known = [_line(finding, result) for finding in verdict.findings if _code_of(finding) == ExitCode.OK]
        if not verdict.records and not verdict.findings and not signers:
            were = "was" if result.deleted == 1 else "were"
            deleted = f"; {result.deleted:,} {were} deleted on purpose" if result.deleted else ""
            self._batch.done(f"{result.path}: no records{deleted}")
        elif not verdict.records and signers:
            self._batch.done(f"{result.path}: the ledger is signed", [*_proof_lines(signers, times), *known])
        elif verdict.records:
            self._sentences.update(self._about(verdict, signers, times, signature))
            proofs = [*_proof_lines(signers, times), *_input_lines(result)]
            self._batch.done(f"{result.path}: {_words(verdict, signature)}", [*proofs, *known])
        else:
            for line in known:
                self._batch.done(f"{result.path}: {line}")
        for finding in verdict.findings:
            if _code_of(finding) != ExitCode.OK:
                self._batch.report_warning(f"{result.path}: {_line(finding, result)}")

    def _add_failed(self, result: "Verified", signature: "SignatureState", proofs: "Sequence[str]") -> None:
        from runcard.store.verification.cut_journal import merge_cut_journal  # noqa: PLC0415 - most records are good

        verdict = result.verdict
        only = verdict.findings[0] if len(verdict.findings) == 1 and not verdict.records else None
        if only is not None and only.kind == "missing" and only.record == printable(result.path):
            self._batch.complain(only.message, result.hint or "name a run or a session, or a folder of them")
            return
        findings = sorted(
            merge_cut_journal(verdict.findings), key=lambda finding: _code_of(finding) != ExitCode.FAILED
        )
        lines = [*(_line(one, result) for one in findings), *proofs]
        self._batch.report_error(f"{result.path}: {_words(verdict, signature)}", details=lines)

    def _about(
        self,
        verdict: "Verdict",
        signers: "Sequence[JudgedSignature]",
        times: "Sequence[JudgedTimestamp]",
        signature: "SignatureState",
    ) -> Iterator[str]:
        """What the verdicts on a good record do not prove."""
        if not (verdict.intact and verdict.complete):
            return
        yield _INTACT
        yield _COMPLETE
        if signature.unsigned_changes:
            yield _CHANGED_SINCE
        if any(each.is_trusted for each in signers):
            yield _SIGNED
        elif signers:
            yield _UNKNOWN_KEY
        else:
            yield _NOT_CHECKED if verdict.leaves_unchecked(layout.SIGNATURE) else _NOT_SIGNED
        if any(each.is_trusted for each in times):
            yield _TIMESTAMPED
        elif times:
            yield _UNKNOWN_AUTHORITY
        else:
            yield _NOT_CHECKED if verdict.leaves_unchecked(layout.TIMESTAMPS) else _NOT_TIMESTAMPED

    def finish(self, tally: "Counter[str]") -> ExitCode:
        """Print the errors, the warnings, the tally and what the verdicts do not prove; the exit code."""
        code = self._batch.finish()
        records = tally.total()
        if records > 1:
            parts = ", ".join(f"{count:,} {word}" for word, count in tally.items() if count)
            (say_done if code == ExitCode.OK else say)(f"{records:,} records: {parts}")
        signed = (_SIGNED, _UNKNOWN_KEY, _NOT_SIGNED, _CHANGED_SINCE)
        stamped = (_TIMESTAMPED, _UNKNOWN_AUTHORITY, _NOT_TIMESTAMPED)
        for sentence in (_INTACT, _COMPLETE, *signed, *stamped, _NOT_CHECKED):
            if sentence in self._sentences:
                say_done(sentence.format(file=self._file))
        return code


def _code_of(checked: "Verdict | Finding") -> ExitCode:
    return code_for_severity(checked.severity)


def _proof_lines(
    signers: "Sequence[JudgedSignature]", times: "Sequence[JudgedTimestamp]", since: str | None = None
) -> Iterator[str]:
    """Who signed and who time-stamped; `since` is what happened to the record after that."""
    for signer in signers:
        yield f"signed by {signer.describe()}" if since is None else signer.describe_earlier(since)
    for time in times:
        yield (
            f"time-stamped {time.describe()}"
            if since is None
            else f"before {since}: time-stamped {time.describe()}"
        )


def _since(verdict: "Verdict") -> str | None:
    """What happened to a record, or to a store, after its signatures; None for a good one."""
    if verdict.intact:
        return None if verdict.complete else "something was removed"
    return "this change"


def _input_lines(result: "Verified") -> Iterator[str]:
    """How many inputs of a run are what they were."""
    if result.inputs is None or not result.verdict.records:
        return
    identity = result.verdict.identity
    if identity is not None and identity.kind == SESSION:
        yield "inputs: a session records none"
    elif not result.inputs:
        yield "inputs: none recorded"
    else:
        counts = Counter(state.state for state in result.inputs)
        yield "inputs: " + ", ".join(f"{count:,} {state}" for state, count in sorted(counts.items()))


def _line(finding: "Finding", result: "Verified") -> str:
    """A finding about a store names the record, one about a file that file, and one about a whole record neither."""
    place = finding.path if finding.kind not in {"open", "ledger"} else ""
    if not result.verdict.records:
        place = "" if finding.record == printable(result.path) else finding.record or ""
    return f"{place}: {finding.message} [{finding.kind}]" if place else f"{finding.message} [{finding.kind}]"


def _words(verdict: "Verdict", signature: "SignatureState") -> str:
    """The verdicts in words; in capitals where the check failed."""
    words = {
        (True, True): f"intact, {_complete(verdict)}",
        (False, True): "changed (nothing missing)",
        (True, False): "incomplete (nothing changed)",
        (False, False): "changed and incomplete",
    }[verdict.intact, verdict.complete]
    has_failed = _code_of(verdict) == ExitCode.FAILED
    if verdict.intact and verdict.complete and verdict.records:
        signed = signature.describe()
        timestamped = "time-stamped" if verdict.timestamped else "not time-stamped"
        if not verdict.timestamped and verdict.leaves_unchecked(layout.TIMESTAMPS):
            timestamped = "time-stamp not checked"
        kinds = {finding.kind for finding in verdict.findings}
        if has_failed and "signer" in kinds:
            signed = signed.upper() if signature.unsigned_changes else "NOT SIGNED AS REQUIRED"
        timestamped = "NOT TIME-STAMPED AS REQUIRED" if "authority" in kinds else timestamped
        return f"{words}, {signed}, {timestamped}"
    if has_failed and verdict.intact and verdict.complete:  # a store, whose ledger is signed by somebody else
        return "the ledger is NOT SIGNED AS REQUIRED"
    if has_failed:
        word, *rest = words.split(" ")
        words = words.upper() if rest[0] == "and" else " ".join([word.upper(), *rest])
    return words if verdict.records else f"the store is {words}"


def _complete(verdict: "Verdict") -> str:
    """A record from which something was taken is complete but for that."""
    withheld = sum(finding.kind == "withheld" for finding in verdict.findings)
    if not withheld:
        return "complete"
    return f"complete except for {withheld:,} withheld {'part' if withheld == 1 else 'parts'}"
