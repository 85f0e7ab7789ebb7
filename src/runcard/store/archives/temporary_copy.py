"""Which archives may be unpacked; and a temporary copy of an archived record."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from runcard.errors import StoreError, UsageError
from runcard.files import check_relative, failure, printable, shell_word
from runcard.store import layout
from runcard.store.archives.bundles.forbidden_names import is_tool_name
from runcard.store.archives.record import ArchivedRecord
from runcard.store.archives.unpack import unpack
from runcard.store.directory_names import start_in
from runcard.store.verification import Verdict, verify_record


def _to_directory(record: ArchivedRecord) -> str:
    return f"name the directory it goes into: runcard restore {shell_word(record.path)} --to restored"


def no_store(record: ArchivedRecord) -> UsageError:
    """The error to raise about an archive that belongs to no store."""
    return UsageError(
        f"{printable(record.path)} is not in a store, and no ledger of a store has it",
        hint=_to_directory(record),
    )


def check_name(record: ArchivedRecord, *, is_named: bool = False) -> None:
    """Refuse a record whose directory would have another name than its archive: the user would not expect it.

    In a directory that the user named, it may have the name of any run or session. Other names may be those of folders in
    which programs look for code, such as `node_modules`.
    """
    if record.name == layout.archived_name(record.path) or (is_named and start_in(record.name) is not None):
        return
    renamed = (
        f"to restore it under that name, rename the archive to {shell_word(record.name + layout.PACKED)}"
    )
    raise StoreError(
        f"{printable(record.path)} holds a record of another name, {printable(record.name)}",
        hint=renamed if is_named else _to_directory(record),
    )


def check_archive(record: ArchivedRecord, verdict: Verdict, *, force: bool = False) -> None:
    """Refuse an archive that must not be unpacked; `force` allows a record that was changed before it was archived."""
    contents = record.scan()
    hint = f"see everything that is wrong with it: runcard verify {shell_word(record.path)}"
    if check_relative(record.name) or is_tool_name(record.name):
        message = f"the archive is refused: a record cannot be called {printable(record.name)}"
        raise StoreError(message, hint=hint)
    if contents.read(layout.METADATA) is None:
        raise StoreError(
            f"{printable(record.path)} is refused: there is no {layout.METADATA} in it", hint=hint
        )
    problems = [(problem.path, problem.message) for problem in contents.problems]
    if not force:
        problems += [
            (problem.path, problem.message) for problem in verdict.findings if problem.breaks is not None
        ]
    harmless = {(problem.path, problem.message) for problem in record.copy_problems}
    for path, message in problems:
        if (path, message) not in harmless:
            raise StoreError(f"{printable(record.path)} is refused: {printable(path)}: {message}", hint=hint)
    record.check_links(contents.symlinks)


@contextmanager
def temporary_copy(record: ArchivedRecord) -> Iterator[str]:
    """The path of an unpacked copy, which is removed afterwards."""
    import tempfile  # noqa: PLC0415 - it takes long to load, and `restore` does not need it

    check_archive(record, verify_record(record))
    with tempfile.TemporaryDirectory(prefix="runcard-") as folder:
        directory = os.path.join(folder, record.name)
        try:
            os.mkdir(directory)
            unpack(record.scan(), directory)
        except OSError as error:
            raise failure(error, directory, "unpack") from error
        yield directory
