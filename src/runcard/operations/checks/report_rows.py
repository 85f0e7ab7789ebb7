"""The rows of a verification report: what a reader may conclude from each judgement, in words for people who do not know runcard."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from runcard.documents.findings import ERROR, NOTE
from runcard.documents.run.input_state import EQUAL
from runcard.documents.times import format_time
from runcard.files import printable
from runcard.operations.checks.signature_state import BAD as BAD_SIGNATURE
from runcard.operations.checks.signature_state import BEFORE_CHANGES, BEFORE_TAMPERING, CURRENT
from runcard.store import layout
from runcard.views.verification_report import BAD, GOOD, WARNING, ReportRow, State

if TYPE_CHECKING:
    from runcard.operations.checks.judgement import Judgement
    from runcard.operations.signatures.time_authority import JudgedTimestamp
    from runcard.operations.signatures.trust import JudgedSignature
    from runcard.store.verification import Verdict

NOT_TRUE = "that the content is true"
NOT_ALONE = "that there were no other records"
NOT_MADE_BY = "who made it"
NOT_OLD = "when it was made"
NOT_CHANGED_BY = "who changed it after the signature"


def report_row(judgement: "Judgement") -> ReportRow | None:
    """The row of a judgement; None for a store about which there is nothing to say."""
    result, verdict = judgement.result, judgement.result.verdict
    if not verdict.records and not verdict.findings and not judgement.signers:
        return None
    record = printable(result.path)
    return ReportRow(
        record if verdict.records or not result.store else f"{record} (the store as a whole)",
        _state(judgement),
        _verdict(judgement),
        _vouched_by(judgement),
        _existed_by(judgement),
        tuple(_missing(judgement)),
        tuple(_not_proven(judgement)) if verdict.records else (NOT_TRUE,),
    )


def is_vouched_for(judgement: "Judgement") -> bool:
    """Whether somebody whom the reader trusts signed the record as it is."""
    return judgement.signature.state == CURRENT and any(each.is_trusted for each in judgement.signers)


def is_dated(judgement: "Judgement") -> bool:
    """Whether an authority that the reader trusts time-stamped the record."""
    verdict = judgement.result.verdict
    return verdict.intact and verdict.complete and any(each.is_trusted for each in judgement.times)


def _state(judgement: "Judgement") -> State:
    severity = judgement.result.verdict.severity
    if severity is ERROR:
        return BAD
    has_other_inputs = any(each.state != EQUAL for each in judgement.result.inputs or ())
    return GOOD if severity is NOTE and not has_other_inputs else WARNING


def _verdict(judgement: "Judgement") -> str:
    verdict = judgement.result.verdict
    kinds = {finding.kind for finding in verdict.findings}
    if "open" in kinds:
        return "not closed: nothing protects it yet"
    if not verdict.records:
        return _store_verdict(judgement)
    if not (verdict.intact and verdict.complete):
        return _damage(verdict)
    withheld = sum(finding.kind == "withheld" for finding in verdict.findings)
    parts = f", except for {withheld:,} withheld {'part' if withheld == 1 else 'parts'}" if withheld else ""
    words = [f"unchanged since it was closed, and complete{parts}"]
    if judgement.signature.unsigned_changes:
        words.append(judgement.signature.describe())
    elif verdict.severity is ERROR and "signer" in kinds:
        words.append("not signed as required")
    if "authority" in kinds:
        words.append("not time-stamped as required")
    return "; ".join(words)


def _damage(verdict: "Verdict") -> str:
    if verdict.identity is None and not verdict.complete and verdict.intact:
        return "cannot be checked, or is not there"
    words = {(False, True): "changed", (True, False): "incomplete", (False, False): "changed and incomplete"}
    return words[verdict.intact, verdict.complete]


def _store_verdict(judgement: "Judgement") -> str:
    verdict = judgement.result.verdict
    if not judgement.result.store and not verdict.complete:
        return "no record is there"
    if verdict.intact and verdict.complete:
        return "its history fits its records" if verdict.severity is NOTE else "its history raises questions"
    return f"its history is {_damage(verdict)}" if verdict.intact is False else "records are missing"


def _vouched_by(judgement: "Judgement") -> str:
    """Who vouches for the record as it is, as far as the reader knows them."""
    state, verdict = judgement.signature, judgement.result.verdict
    trusted = [each for each in judgement.signers if each.is_trusted]
    names = "; ".join(dict.fromkeys(_signer(each) for each in trusted or judgement.signers))
    if state.state == BAD_SIGNATURE:
        return "nobody: a signature is wrong"
    if not judgement.signers:
        return "not checked here" if verdict.leaves_unchecked(layout.SIGNATURE) else "nobody"
    if state.state == BEFORE_TAMPERING:
        return f"nobody as it is now: signed by {names} before this damage"
    if state.state == BEFORE_CHANGES:
        return f"nobody as it is now: {names} {state.describe()}"
    return names if trusted else f"nobody whom you named: signed by {names}"


def _signer(signer: "JudgedSignature") -> str:
    name = ", ".join(map(printable, signer.names)) or "an unknown key"
    fault = f", not trusted: {signer.fault}" if signer.fault and signer.names else ""
    return f"{name} ({signer.signature.key.fingerprint}){fault}"


def _existed_by(judgement: "Judgement") -> str:
    verdict = judgement.result.verdict
    trusted = [each for each in judgement.times if each.is_trusted]
    if verdict.records and not (verdict.intact and verdict.complete) and judgement.times:
        return "not proven as it is now"
    if trusted:
        return _time(min(trusted, key=lambda each: each.timestamp.latest))
    if judgement.times:
        first = min(judgement.times, key=lambda each: each.timestamp.latest)
        return f"not proven: {_time(first)}, whom nobody vouches for here"
    return "not checked here" if verdict.leaves_unchecked(layout.TIMESTAMPS) else "not proven"


def _time(stamp: "JudgedTimestamp") -> str:
    authority = printable(stamp.timestamp.authority)[:80]
    shown = authority if stamp.is_trusted else f'"{authority}"'
    return f"{format_time(stamp.timestamp.latest)}, says {shown}"


def _missing(judgement: "Judgement") -> Iterator[str]:
    """What is wrong, the worst first; then what was changed or withheld by amendments."""
    verdict = judgement.result.verdict
    severities = {finding.severity for finding in verdict.findings}
    for severity in sorted(severities, key=lambda each: (each is NOTE, each is not ERROR)):
        for finding in verdict.findings:
            if finding.severity is severity:
                place = finding.path if verdict.records else finding.record or ""
                is_named = place and place != printable(judgement.result.path)
                yield f"{place}: {finding.message}" if is_named else finding.message
    for state in judgement.result.inputs or ():
        if state.state != EQUAL:
            yield state.describe()


def _not_proven(judgement: "Judgement") -> Iterator[str]:
    """What is not proven about a record."""
    yield NOT_TRUE
    yield NOT_ALONE
    if not is_vouched_for(judgement):
        yield NOT_MADE_BY
    if judgement.signature.unsigned_changes:
        yield NOT_CHANGED_BY
    yield NOT_OLD


def not_proven_by_all(records: int, *, vouched: int, dated: int) -> Iterator[str]:
    """What is not proven by the records of a report, of which some are vouched for and some are dated."""
    yield "That the content is true. A program can record wrong numbers, and a signer can sign them."
    yield (
        "That there was nothing else. Ten runs can be made and the best one shown, and a record that was removed together with its last "
        "traces leaves none."
    )
    if vouched < records:
        yield (
            f"Who made {_of(records - vouched, records)}. Nobody whom you named vouches for them as they are: whoever sent "
            "them could have made or changed them."
        )
    if vouched:
        yield "That a signer did the work. A signature says who vouches for a record."
    if dated < records:
        yield f"By when {_of(records - dated, records)} existed. Their dates are those of the clock of the machine that recorded them."
    if dated:
        yield "How old a time-stamped record is. It existed by the time that is named, and may be older."
    yield "That a model wrote an output, or that the machine was honest. A record has what that machine saw."


def _of(part: int, whole: int) -> str:
    if part == whole:
        return "the record" if whole == 1 else f"these {whole:,} records"
    return f"{part:,} of {whole:,} records"
