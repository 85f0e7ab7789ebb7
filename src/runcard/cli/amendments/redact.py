"""runcard redact"""

import sys
from typing import TYPE_CHECKING, Any

import click

from runcard.cli.options import PATH, TEXT, by_option, dry_run_option, json_option, yes_option

if TYPE_CHECKING:
    from runcard.operations.amendments.redaction import Redacted, Taken


@click.command("redact", short_help="Take something out of a closed record, in the open.")
@click.argument("record", metavar="RECORD", type=PATH)
@click.option("--file", "files", multiple=True, metavar="GLOB", help="Take out these files. Can be repeated.")
@click.option(
    "--event",
    "events",
    multiple=True,
    metavar="SEQ",
    help="Take out the payload of this event of the journal: SEQ, or WRITER:SEQ. Can be repeated.",
)
@click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="NAME",
    help="Mask what this rule of masking finds in the texts of the record. Can be repeated.",
)
@click.option("--reason", required=True, metavar="TEXT", type=TEXT, help="Why. It stays in the record.")
@by_option
@dry_run_option
@yes_option
@json_option
def command(record: str, yes: bool, dry_run: bool, as_json: bool, **chosen: Any) -> int:  # noqa: ANN401 - as click has them
    """Take files, payloads of events, or secrets out of the closed run or session RECORD, for good.

    The record says what was taken out, by whom, when and why. Everything else still verifies. A redaction that was killed
    half-way is finished by the next one. RECORD may be archived: it is restored, redacted and archived again.

    Exit codes: 0 done, 1 not done, 2 done and something is to be known, 64 without --yes where nobody can be asked.
    """
    from functools import partial  # noqa: PLC0415

    from runcard.cli.printing import complain, say, say_json  # noqa: PLC0415
    from runcard.cli.progress import Progress  # noqa: PLC0415
    from runcard.errors import ExitCode  # noqa: PLC0415
    from runcard.operations.amendments.redact import redact  # noqa: PLC0415

    progress = Progress("files")
    work = partial(redact, record, **chosen, progress=progress.files)
    if not dry_run and not yes:
        (planned,) = progress.over(work(dry_run=look) for look in (True,))
        if planned.taken and not _is_agreed(record, planned):
            complain("Error", "nothing was redacted")
            return ExitCode.FAILED
    (done,) = progress.over(work(dry_run=look) for look in (dry_run,))
    if as_json:
        say_json(done.to_dict())
    else:
        for line in _lines(done):
            say(line)
    sys.stdout.flush()
    for warning in done.warnings:
        complain("Warning", warning)
    return ExitCode.WARNINGS if done.warnings else ExitCode.OK


def _lines(done: "Redacted") -> list[str]:
    would = "" if done.is_done else "would be "
    lines = [f"{path}: {would}finished, as an earlier amendment says" for path in done.finished]
    lines += [f"{one.path}: {would}{_words(one)}" for one in done.taken]
    lines += [f"{path}: withheld already" for path in done.already]
    return lines or ["nothing was found to be taken out"]


def _words(one: "Taken") -> str:
    if one.events:
        count = len(one.events)
        return f"withheld in {count} event{'' if count == 1 else 's'}: {', '.join(one.events)}"
    if one.counts:
        return f"masked: {', '.join(f'{count} × {rule}' for rule, count in sorted(one.counts.items()))}"
    return "withheld"


def _is_agreed(record: str, planned: "Redacted") -> bool:
    """Say what would go, and ask."""
    from runcard.cli.confirm import is_agreed  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415

    return is_agreed(
        f"Take this out of {record} for good?",
        doing=f"take something out of {printable(record)}",
        about=_lines(planned),
    )
