"""runcard redact"""

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import RECORD, TEXT, by_option, dry_run_option, json_option, yes_option
from runcard.cli.printing import complain, note_uncovered, say, say_done, say_json

if TYPE_CHECKING:
    from runcard.operations.amendments.redaction import Redacted, RedactedFile


@click.command("redact")
@click.argument("record", metavar="RECORD", type=RECORD)
@click.option("--file", "files", multiple=True, metavar="GLOB", help="Remove these files. Repeatable.")
@click.option(
    "--event",
    "events",
    multiple=True,
    metavar="SEQ",
    help="Remove the payload of this journal event: SEQ or WRITER:SEQ. Repeatable.",
)
@click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="NAME",
    help="Mask the secrets that this masking rule finds in the record. Repeatable.",
)
@click.option(
    "--reason", required=True, metavar="TEXT", type=TEXT, help="Reason, which is kept in the record."
)
@by_option
@dry_run_option
@yes_option
@json_option
def command(record: str, yes: bool, dry_run: bool, as_json: bool, **chosen: Any) -> int:  # noqa: ANN401 - as click has them
    """Permanently remove files, event payloads or secrets from the closed run or session RECORD.

    RECORD is a path, an id, a prefix of an id, a name, or @latest (@latest~1 is the one before).

    A note remains: what kind of data was removed, by whom, when and why; everything else still verifies. The next redaction finishes
    one that was killed. An archived RECORD is restored, redacted and archived again.

    Exit codes: 0 done, 1 not done, 2 done with warnings, 64 confirmation needed: pass --yes.
    """
    from runcard.cli.progress import ByteProgress  # noqa: PLC0415
    from runcard.operations.amendments.redact import redact  # noqa: PLC0415
    from runcard.operations.checks.measure import measure  # noqa: PLC0415

    bar = ByteProgress(lambda: measure([record]))

    def work(words: list[str], *, dry_run: bool) -> "Redacted":
        (result,) = bar.over(redact(word, **chosen, dry_run=dry_run, progress=bar.advance) for word in words)
        return result

    if not dry_run and not yes:
        planned = work([record], dry_run=True)
        record = planned.path  # what was confirmed, even if the word names another record by now
        if planned.taken and not _is_agreed(planned):
            return ExitCode.FAILED
    done = work([record], dry_run=dry_run)
    if as_json:
        say_json(done.to_dict())
    else:
        for line in _lines(done):
            say(line) if dry_run else say_done(line)
    sys.stdout.flush()
    for warning in done.warnings:
        complain("Warning", warning)
    if done.taken and not dry_run:
        note_uncovered(done.path)
    return ExitCode.WARNINGS if done.warnings else ExitCode.OK


def _lines(done: "Redacted") -> list[str]:
    would = "" if done.is_done else "would be "
    lines = [(path, f"{would}finished, an earlier redaction was interrupted") for path in done.finished]
    lines += [(removed.path, would + _words(removed)) for removed in done.taken]
    lines += [(path, "already withheld") for path in done.already]
    return [f"{os.path.join(done.path, path)}: {text}" for path, text in lines] or [
        f"{done.path}: nothing to redact"
    ]


def _words(removed: "RedactedFile") -> str:
    if removed.events:
        count = len(removed.events)
        return f"withheld in {count} event{'' if count == 1 else 's'}: {', '.join(removed.events)}"
    if removed.counts:
        return f"masked: {', '.join(f'{count} × {rule}' for rule, count in sorted(removed.counts.items()))}"
    return "withheld"


def _is_agreed(planned: "Redacted") -> bool:
    """List what would be removed, and ask."""
    from runcard.cli.confirm import is_agreed  # noqa: PLC0415

    return is_agreed(
        f"Permanently remove this from {planned.path}?",
        otherwise="nothing was redacted",
        about=_lines(planned),
    )
