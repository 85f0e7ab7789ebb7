"""runcard verify"""

from typing import TYPE_CHECKING

from runcard.cli import declare
from runcard.cli.cluster_options import declared_cluster_options
from runcard.cli.exit_codes import ExitCode, code_for_severity
from runcard.cli.printing import say_done, say_json, say_note

if TYPE_CHECKING:
    from runcard.cli.batch import Batch
    from runcard.operations.checks.pin import PinCheck
    from runcard.operations.checks.report_file import ReportFile


@declare.command("verify")
@declare.argument("paths", nargs=-1, required=True, metavar="PATH...", type="RECORD")
@declare.option(
    "--pin",
    metavar="FILE",
    type="PATH",
    help="Compare the ledgers with FILE, which holds their ends at the last check, and update it. Keep FILE outside the store.",
)
@declare.option(
    "--signers",
    metavar="FILE",
    type="PATH",
    help="Public keys that you trust, in the format of OpenSSH's allowed_signers. Each record needs a signature by one of them.",
)
@declare.option(
    "--require",
    metavar="NAME,...",
    help="Names in the file of signers. Each record needs the signature of each of them, by different people.",
)
@declare.option(
    "--allow-unsigned-changes",
    is_flag=True,
    help="Changes after the last signature, such as redactions, are warnings, not errors. With --signers.",
)
@declare.option(
    "--require-signed-ledger",
    is_flag=True,
    help="The ledger of each store needs a signature by one of the signers, also for a record that is named: without it, removed records may go unnoticed.",
)
@declare.option(
    "--revoked",
    metavar="FILE",
    type="PATH",
    help="Public keys that you do not trust any more, one on each line, perhaps with since=YYYYMMDDZ behind them.",
)
@declare.option(
    "--tsa-certs",
    metavar="FILE",
    type="PATH",
    help="Certificates of time-stamping authorities that you trust, as PEM. Time-stamps of others are errors.",
)
@declare.option(
    "--require-timestamp",
    is_flag=True,
    help="Each record needs a time-stamp by an authority in the file of --tsa-certs.",
)
@declare.option(
    "--proof",
    metavar="FILE",
    type="PATH",
    help="Proof by `runcard anchor --proof` about the record at PATH. Default: PATH.proof.json, if it exists.",
)
@declare.option(
    "--inputs",
    is_flag=True,
    help="Compare the inputs of runs with the files as they are now. Those that are changed, gone or cannot be checked are warnings: they are not part of a record.",
)
@declare.option(
    "--report",
    metavar="FILE",
    type="PATH",
    help="Also write a table for people without runcard to FILE, which ends with .html, .csv or .md.",
)
@declare.progress_option
@declare.json_option
@declared_cluster_options
def command(  # noqa: PLR0913, PLR0917 - one for each option
    paths: tuple[str, ...],
    pin: str | None,
    signers: str | None,
    require: str | None,
    allow_unsigned_changes: bool,
    require_signed_ledger: bool,
    revoked: str | None,
    tsa_certs: str | None,
    require_timestamp: bool,
    proof: str | None,
    inputs: bool,
    report: str | None,
    shows_progress: bool,
    as_json: bool,
) -> int:
    """Hash every file of the records at PATH and compare it with the record.

    PATH is a run, a session, an archive, a bundle, a folder with records at any depth, or the URL of an archive or of a folder of
    archives in object storage, such as s3://BUCKET/FOLDER. A record can also be named by its id,
    a prefix of its id, its name, or as @latest (@latest~1 is the one before). A record is intact if nothing was
    changed except by recorded amendments, and complete if nothing is missing. Name the keys that you trust with
    --signers.

    Exit codes: 0 intact and complete, 1 problems found, 2 warnings.
    """
    from runcard.cli.batch import Batch  # noqa: PLC0415
    from runcard.cli.checks.verify_report import VerifyReport  # noqa: PLC0415
    from runcard.cli.progress import ByteProgress  # noqa: PLC0415
    from runcard.operations.checks.judgement import Judgement, Requirements, judge_all  # noqa: PLC0415
    from runcard.operations.checks.verify import VerifySummary, verify  # noqa: PLC0415
    from runcard.settings import read_settings  # noqa: PLC0415

    if pin is not None:
        from runcard.operations.checks.pin import read_pins  # noqa: PLC0415

        read_pins(pin)  # one that cannot be read stops the work before it begins
    file = None if report is None else _report_file(report)
    bar = ByteProgress(lambda: _measure(paths), everywhere=shows_progress)
    batch = Batch("records", None, as_json=as_json, progress=bar)
    requirements = Requirements(
        signers,
        revoked,
        None if require is None else tuple(name.strip() for name in require.split(",")),
        allow_unsigned_changes,
        require_signed_ledger,
        tsa_certs,
        require_timestamp,
        proof,
    )
    total = VerifySummary(lists_records=as_json)
    screen = VerifyReport(batch, signers)
    sinks = [each for each in (total, screen, file) if each is not None]
    results = verify(
        *paths,
        progress=bar.advance,
        limits=read_settings().limits,
        whole_ledgers=pin is not None,
        inputs=inputs,
        ledgers=as_json,
    )
    for judgement in judge_all(paths, batch.over(results), requirements):
        for each in sinks:
            each.add(judgement)
    pinned = None if pin is None else _check_pins(pin, paths, total.stores)
    for judgement in map(Judgement, pinned.results if pinned else ()):
        for each in sinks:
            each.add(judgement)
    if as_json:
        say_json(total.to_dict(pinned))
        code = _code(code_for_severity(total.severity), pinned)
    else:
        if pinned is not None:
            _add_pins(batch, pinned)
        code = screen.finish(total.tally)
    if file is not None:
        trust = {"--signers": signers, "--require": require, "--revoked": revoked, "--tsa-certs": tsa_certs}
        flags = {
            "--allow-unsigned-changes": allow_unsigned_changes,
            "--require-signed-ledger": require_signed_ledger,
            "--require-timestamp": require_timestamp,
            "--proof": proof,
            "--inputs": inputs,
        }
        file.write(paths, trust | flags, total.tally)
        (say_note if as_json else say_done)(f"report written to {file.path}")
    return code


def _report_file(path: str) -> "ReportFile":
    from runcard.operations.checks.report_file import ReportFile  # noqa: PLC0415 - few write a report

    return ReportFile(path)


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


def _add_pins(batch: "Batch", pinned: "PinCheck") -> None:
    if not pinned.is_updated:
        batch.report_error(
            f"{pinned.file} was not updated: a ledger changed, or its chain is broken",
            "find out why; to accept the ledgers as they are now, delete the file and pin again",
        )
    elif pinned.ledgers:
        say_done(str(pinned))
    else:
        batch.report_warning(f"{pinned.file}: nothing to pin: no ledger at PATH")
