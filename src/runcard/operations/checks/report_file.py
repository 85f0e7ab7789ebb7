"""The file of `runcard verify --report`: its suffix says what it is to be, and only an earlier report is replaced."""

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from runcard.documents.times import format_time
from runcard.errors import StoreError, UsageError
from runcard.files import NotRegularFileError, failure, open_regular, printable, shell_word, write_atomic
from runcard.operations.checks.report_rows import is_dated, is_vouched_for, not_proven_by_all, report_row
from runcard.operations.checks.verify_directories import is_record
from runcard.version import __version__
from runcard.views.verification_report import FORMS, MARKS, VerificationReport

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runcard.operations.checks.judgement import Judgement
    from runcard.views.verification_report import ReportRow


class ReportFile:
    """A report that grows with each judgement and is written at the end."""

    def __init__(self, path: str) -> None:
        """Raises an error at once if the file cannot be a report, or would change a record."""
        self.path = path
        self._suffix = os.path.splitext(path)[1].lower()
        if self._suffix not in FORMS:
            raise UsageError(
                f"{printable(path)}: the suffix does not say what the report is to be",
                hint="name a file that ends with .html, .csv or .md",
            )
        self._check_target()
        self._rows: list[ReportRow] = []
        self._records = self._vouched = self._dated = 0

    def _check_target(self) -> None:
        folder = os.path.dirname(os.path.realpath(self.path))
        if not os.path.isdir(folder):
            raise StoreError(f"{printable(folder)} is not a folder", hint=f"mkdir -p {shell_word(folder)}")
        while os.path.dirname(folder) != folder:
            if is_record(folder):
                raise StoreError(
                    f"{printable(self.path)} would be a file in a record, and change it",
                    hint="name a file elsewhere",
                )
            folder = os.path.dirname(folder)
        if os.path.lexists(self.path) and not self._is_report():
            raise StoreError(
                f"{printable(self.path)} exists and is no report; it was not changed",
                hint="name another file, or remove this one",
            )

    def _is_report(self) -> bool:
        """Whether the file may be replaced: a report of the same form, or nothing at all."""
        mark = MARKS[self._suffix].encode()
        try:
            descriptor = open_regular(self.path, follow=True)
            try:
                return os.read(descriptor, len(mark)) in {mark, b""}
            finally:
                os.close(descriptor)
        except NotRegularFileError:
            return False
        except OSError as error:
            raise failure(error, self.path, "read") from error

    def add(self, judgement: "Judgement") -> None:
        row = report_row(judgement)
        if row is not None:
            self._rows.append(row)
        if judgement.result.verdict.records:
            self._records += 1
            self._vouched += is_vouched_for(judgement)
            self._dated += is_dated(judgement)

    def write(
        self, paths: "Sequence[str]", options: "Mapping[str, str | bool | None]", tally: "Mapping[str, int]"
    ) -> None:
        """Write the report. `options` are those of the command that made it, and `tally` says how many records are good."""
        counts = [f"{count:,} {word}" for word, count in tally.items() if count]
        total = sum(tally.values())
        records = "1 record" if total == 1 else f"{total:,} records"
        report = VerificationReport(
            format_time(datetime.now(UTC).replace(microsecond=0)),
            f"runcard {__version__}",
            _command(paths, options),
            f"{records}: {', '.join(counts)}." if counts else "No record was found.",
            tuple(self._rows),
            tuple(not_proven_by_all(self._records, vouched=self._vouched, dated=self._dated)),
        )
        self._check_target()  # it may be another file by now
        try:
            write_atomic(self.path, FORMS[self._suffix](report))
        except OSError as error:
            raise failure(error, self.path, "write") from error


def _command(paths: "Sequence[str]", options: "Mapping[str, str | bool | None]") -> str:
    words = ["runcard", "verify"]
    for name, value in options.items():
        if value:
            words += [name] if value is True else [name, shell_word(str(value))]
    guard = ["--"] if any(path.startswith("-") for path in paths) else []
    return " ".join([*words, *guard, *map(shell_word, paths)])
