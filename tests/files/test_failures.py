"""What the operating system refused, as errors."""

import errno
import os

import pytest

from runcard.errors import MachineError, StoreError
from runcard.files import failure


@pytest.mark.parametrize(
    "number", [errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EEXIST, errno.ENAMETOOLONG]
)
def test_what_is_gone_or_in_the_way_is_for_the_owner_of_the_store(number: int) -> None:
    assert isinstance(failure(OSError(number, "x"), "file", "read"), StoreError)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.ENOSPC, errno.EMFILE, None])
def test_everything_else_is_for_whoever_looks_after_the_machine(number: int | None) -> None:
    assert isinstance(failure(OSError(number, "x"), "file", "read"), MachineError)


def test_the_error_names_the_file_and_says_what_to_do() -> None:
    error = failure(OSError(errno.EACCES, "x"), "a\x1bb", "read the file")
    assert error.message == rf"cannot read the file a\x1bb: {os.strerror(errno.EACCES)}"
    assert error.hint
