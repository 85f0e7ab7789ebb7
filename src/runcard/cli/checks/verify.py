"""runcard verify"""

from typing import TYPE_CHECKING

from runcard.cli import declare
from runcard.cli.exit_codes import ExitCode, code_for_severity
from runcard.cli.printing import say_done, say_json

if TYPE_CHECKING:
    from runcard.cli.batch import Batch
    from runcard.documents.findings import Finding
    from runcard.operations.checks.pin import PinCheck
    from runcard.operations.checks.verify_result import Verified
    from runcard.store.verification import Verdict

_NOT_SIGNED = "Not signed: anyone able to write to this folder, its sender included, could have forged it."


@declare.command("verify")
@declare.argument("paths", nargs=-1, required=True, metavar="PATH...", type="RECORD")
@declare.option(
    "--pin",
    metavar="FILE",
    type="PATH",
    help="Compare the ledgers with FILE, which holds their ends at the last check, and update it. Keep FILE outside the store.",
)
@declare.progress_option
@declare.json_option
def command(paths: tuple[str, ...], pin: str | None, shows_progress: bool, as_json: bool) -> int:
    """Hash every file of the records at PATH and compare it with the record.

    PATH is a run, a session, an archive, or a folder with records at any depth. A record can also be named by its id,
    a prefix of its id, its name, or as @latest (@latest~1 is the one before). A record is intact if nothing was
    changed except by recorded amendments, and complete if nothing is missing.

    Exit codes: 0 intact and complete, 1 problems found, 2 warnings.
    """
    from runcard.cli.batch import Batch  # noqa: PLC0415
    from runcard.cli.progress import ByteProgress  # noqa: PLC0415
    from runcard.operations.checks.verify import VerifySummary, verify  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    if pin is not None:
        from runcard.operations.checks.pin import read_pins  # noqa: PLC0415

        read_pins(pin)  # one that cannot be read stops the work before it begins
    bar = ByteProgress(lambda: _measure(paths), everywhere=shows_progress)
    batch = Batch("records", None, as_json=as_json, progress=bar)
    total = VerifySummary()
    limits = read_settings().limits
    for result in batch.over(
        verify(*paths, progress=bar.advance, limits=limits, whole_ledgers=pin is not None)
    ):
        total.add(result)
        _add(batch, result)
    pinned = None if pin is None else _check_pins(pin, paths, total.stores)
    for result in pinned.results if pinned else ():
        total.add(result)
        _add(batch, result)
    if as_json:
        say_json(total.to_dict(pinned))
        return _code(code_for_severity(total.severity), pinned)
    if total.has_good:
        say_done(_NOT_SIGNED)
    if pinned is not None:
        _add_pins(batch, pinned)
    return batch.finish()


def _measure(paths: tuple[str, ...]) -> int:
    from runcard.operations.checks.measure import measure  # noqa: PLC0415 - only for a bar

    return measure(paths)


def _check_pins(pin: str, paths: tuple[str, ...], stores: set[str]) -> "PinCheck":
    from runcard.operations.checks.pin import check_pins  # noqa: PLC0415 - few pass --pin

    return check_pins(pin, paths, stores)


def _code(code: ExitCode, pinned: "PinCheck | None") -> ExitCode:
    if pinned is not None and not pinned.is_updated:
        return ExitCode.FAILED
    return ExitCode.WARNINGS if pinned is not None and not pinned.ledgers and code == ExitCode.OK else code


def _code_of(checked: "Verdict | Finding") -> ExitCode:
    return code_for_severity(checked.severity)


def _add_pins(batch: "Batch", pinned: "PinCheck") -> None:
    if not pinned.is_updated:
        batch.complain(
            f"{pinned.file} was not updated: a ledger changed, or its chain is broken",
            "find out why; to accept the ledgers as they are now, delete the file and pin again",
        )
    elif pinned.ledgers:
        say_done(str(pinned))
    else:
        batch.warn(f"{pinned.file}: nothing to pin: no ledger at PATH")


def _add(batch: "Batch", result: "Verified") -> None:
    """The verdict on a record: at once if it is good, at the end if it failed."""
    from runcard.files import printable  # noqa: PLC0415

    verdict = result.verdict
    if _code_of(verdict) == ExitCode.FAILED:
        only = verdict.findings[0] if len(verdict.findings) == 1 and not verdict.records else None
        if only is not None and only.kind == "missing" and only.record == printable(result.path):
            batch.complain(only.message, result.hint or "name a run or a session, or a folder of them")
            return
        findings = sorted(verdict.findings, key=lambda finding: _code_of(finding) != ExitCode.FAILED)
        batch.complain(f"{result.path}: {_words(verdict)}", details=[_line(one, result) for one in findings])
        return
    known = [_line(finding, result) for finding in verdict.findings if _code_of(finding) == ExitCode.OK]
    if _is_empty(result):
        were = "was" if result.deleted == 1 else "were"
        deleted = f"; {result.deleted:,} {were} deleted on purpose" if result.deleted else ""
        batch.done(f"{result.path}: no records{deleted}")
    elif verdict.records:
        batch.done(f"{result.path}: {_words(verdict)}", known)
    for finding in verdict.findings:
        if _code_of(finding) != ExitCode.OK:
            batch.warn(f"{result.path}: {_line(finding, result)}")


def _is_empty(result: "Verified") -> bool:
    """Whether this is a store without records."""
    return not result.verdict.records and not result.verdict.findings


def _line(finding: "Finding", result: "Verified") -> str:
    """A finding about a store names the record, one about a file that file, and one about a whole record neither."""
    place = finding.path if finding.kind not in {"open", "ledger"} else ""
    if not result.verdict.records:
        place = finding.record or ""
    return f"{place}: {finding.message} [{finding.kind}]" if place else f"{finding.message} [{finding.kind}]"


def _words(verdict: "Verdict") -> str:
    """The verdict in words; in capitals where the check failed."""
    words = {
        (True, True): "intact, complete",
        (False, True): "changed (nothing missing)",
        (True, False): "incomplete (nothing changed)",
        (False, False): "changed and incomplete",
    }[verdict.intact, verdict.complete]
    if _code_of(verdict) == ExitCode.FAILED:
        word, *rest = words.split(" ")
        words = words.upper() if rest[0] == "and" else " ".join([word.upper(), *rest])
    return words if verdict.records else f"the store is {words}"
