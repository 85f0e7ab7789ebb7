"""The inputs of a run as they are today, compared with their digests.

The paths come from a document that a stranger may have written: only regular files are opened, and nothing but their digests
is ever returned. A link to a file stands for that file, as when it was recorded.
"""

import os
import stat
from collections.abc import Iterable, Iterator

from runcard.documents.run.input_state import CHANGED, EQUAL, GONE, UNCHECKED, InputState
from runcard.documents.run.inputs import input_path
from runcard.encoding import JsonObject
from runcard.files import printable
from runcard.observe.inputs import hash_all

# Regular files of no size, whose content may be endless, and may be gone once it is read.
_KERNEL = ("/proc/", "/sys/")


class _Unchecked(Exception):  # noqa: N818 - a result
    """An input that cannot be checked, with the reason."""


def input_states(
    entries: Iterable[JsonObject], directory: str | None, *, limit: int | None = None
) -> list[InputState]:
    """The state of each input, in the order of the document.

    Relative paths are below `directory`; None: it is unknown. Files are hashed in that order as long as their sizes add up
    to no more than `limit` bytes; the others are unchecked.
    """
    if directory is not None and not os.path.isdir(directory):
        directory = None
    found = list(_located(entries, directory, limit))
    digests, problems = hash_all({file for _, file in found if file is not None})
    return [
        state if file is None else _compared(state, digests.get(file), problems.get(file))
        for state, file in found
    ]


def _located(
    entries: Iterable[JsonObject], directory: str | None, limit: int | None
) -> Iterator[tuple[InputState, str | None]]:
    """Each input, with the real path of the file that is to be hashed; None if its state is known without that."""
    left = limit
    for entry in entries:
        expected = entry.get("sha256")
        state = InputState(printable(str(entry.get("path"))), UNCHECKED, expected)
        try:
            file, size = _file(entry, directory)
            _check_readable(file, size, left)
            left = None if left is None else left - size
            yield state, file
        except FileNotFoundError:
            yield state._replace(state=GONE), None
        except _Unchecked as reason:
            yield state._replace(reason=str(reason)), None


def _check_readable(file: str, size: int, left: int | None) -> None:
    """Raise _Unchecked for a file that is not to be read."""
    if file.startswith(_KERNEL):
        raise _Unchecked("it is not stored: the kernel makes its content")
    if left is not None and size > left:
        raise _Unchecked("there is too much to read")


def _file(entry: JsonObject, directory: str | None) -> tuple[str, int]:
    """The real path of an input, and its size; raises FileNotFoundError if it is gone."""
    if entry.get("sha256") is None:
        raise _Unchecked("its digest is not recorded")
    try:
        path = input_path(entry)
        if "://" in path:
            raise _Unchecked("it is not a file of this machine")
        if not os.path.isabs(path):
            if directory is None:
                raise _Unchecked("the directory in which the run was started is not known or not here")
            path = os.path.join(directory, path)
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise _Unchecked("it is not a regular file")
        return os.path.realpath(path), status.st_size
    except NotADirectoryError as error:
        raise FileNotFoundError from error
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _Unchecked(error.strerror or "it cannot be read") from error
    except ValueError as error:  # no path can be like this
        raise _Unchecked("its path is not valid") from error


def _compared(state: InputState, digest: str | None, problem: str | None) -> InputState:
    if digest is None:
        return state._replace(reason=problem or "it cannot be read")
    return state._replace(state=EQUAL if digest == state.expected else CHANGED, found=digest)
