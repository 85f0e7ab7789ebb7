"""Experiments: which one a run belongs to, its id, and the folder of those that have one.

The folder is `experiments/NAME/`, below the current directory. Its `config.yaml` holds the id of the experiment, made once,
and the configuration that its runs start with; `data/` holds their inputs, `outputs/` the runs. An experiment without a
folder is only a name, and its id is derived from it. A run without an experiment belongs to the store's own.

The id of a store is kept in a file that is written once. A crash can leave that file empty, and a user can replace it. That
stops no run: the file is written again, under the lock of the store, so that all processes get the same id; where it cannot
be replaced, the id is unknown.
"""

import errno
import os
from collections.abc import Callable
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.encoding import JsonObject, Limits, as_text, join_pointer
from runcard.errors import DocumentError, StoreError, UsageError
from runcard.files import SAFE_ID, failure, is_safe_id, printable, read_file, read_regular, write_atomic
from runcard.files.temporary_files import remove_temporary_files_for
from runcard.store import layout
from runcard.store.locks import lock_folder
from runcard.store.own_directories import open_own

ID, CREATED, DESCRIPTION = "experiment_id", "created_at", "description"
OWN_KEYS = (ID, CREATED, DESCRIPTION)  # of config.yaml; all others are configuration

NewId = Callable[[str], str]  # makes an id from a prefix


class Experiment(NamedTuple):
    """An experiment that has a folder."""

    name: str
    path: str
    experiment_id: str
    created_at: str | None
    description: str | None
    config: JsonObject  # what its runs start with

    @property
    def inputs(self) -> tuple[str, ...]:
        """The input patterns of its runs: the data folder, unless it is empty."""
        folder = os.path.join(self.path, layout.DATA)
        try:
            return (folder,) if any(not name.startswith(".") for name in os.listdir(folder)) else ()
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError:
            return (folder,)  # reading the inputs reports what is wrong with it

    @property
    def outputs(self) -> str:
        """The store that its runs go to."""
        return os.path.join(self.path, layout.OUTPUTS)


def find_experiment(name: str, new_id: NewId) -> Experiment | None:
    """The experiment of this name, if it has a folder; raises an error that says what is wrong with its config.yaml.

    A folder without an id gets one from `new_id`.
    """
    path = find_experiment_folder(name)
    if path is None:
        return None
    data = read_experiment_config(path)
    if data.get(ID) is None:
        data = _add_id(path, new_id)
    config = {key: value for key, value in data.items() if key not in OWN_KEYS}
    return Experiment(name, path, data[ID], data.get(CREATED), data.get(DESCRIPTION), config)


def experiment_id(name: str, new_id: NewId) -> str:
    """The id of the experiment of this name: from its folder if it has one, else derived from the name."""
    experiment = find_experiment(name, new_id)
    return experiment.experiment_id if experiment else id_from_name(name)


def id_from_name(name: str) -> str:
    """The id of an experiment that is only a name: the same everywhere."""
    from base64 import b32encode  # noqa: PLC0415 - most runs belong to the store's own experiment

    digest = bytes.fromhex(sha256_bytes(f"runcard-experiment-1:{name}".encode()).hex)
    return f"exp-{b32encode(digest).decode().lower()[:20]}"


def check_experiment_name(name: str) -> str:
    """The name, if it can be that of a folder; raises UsageError."""
    if not is_safe_id(name):
        raise UsageError(
            f"experiment {printable(name)!r} is not a valid name",
            hint=f"use letters, digits, dots, dashes, underscores: {SAFE_ID.pattern}",
        )
    return name


def no_experiment(name: str) -> StoreError:
    """The error for an unknown experiment, with a similar name if there is one."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for the error

    similar = get_close_matches(name, experiment_names(), n=1)
    return StoreError(
        f"there is no experiment {printable(name)}",
        hint=f"did you mean {similar[0]}?" if similar else "list them with: runcard experiment list",
    )


def experiment_names() -> list[str]:
    """The names of the experiments that have a folder."""
    try:
        with os.scandir(layout.EXPERIMENTS) as scan:
            return sorted(entry.name for entry in scan if is_safe_id(entry.name) and entry.is_dir())
    except OSError:
        return []


def find_experiment_folder(name: str) -> str | None:
    """The folder of an experiment, if it has one. A link in its place is refused: it may lead anywhere."""
    path = layout.experiment_folder(check_experiment_name(name))
    if os.path.islink(path):
        raise StoreError(
            f"{printable(path)} is a link, not the folder of an experiment",
            hint="replace the link by the folder itself",
        )
    return path if os.path.isdir(path) else None


def read_experiment_config(folder: str) -> JsonObject:
    """The contents of config.yaml, its own keys checked; empty where there is no file."""
    path = os.path.join(folder, layout.CONFIG)
    if not os.path.lexists(path):
        return {}
    if not layout.may_be_file(path, follow=True):
        raise StoreError(f"{printable(path)} is not a file", hint="replace it by a file, or remove it")
    from runcard.store.runs.configuration import read_config_file  # noqa: PLC0415 - most runs are in no folder

    data = read_config_file(path)
    for key in OWN_KEYS:
        value = data.get(key)
        if value is not None and (not isinstance(value, str) or (key == ID and not is_safe_id(value))):
            raise _invalid_key(path, key, value)
    return data


def _invalid_key(path: str, key: str, value: object) -> DocumentError:
    """The error for an invalid value of one of runcard's own keys, with its position."""
    from runcard.encoding.yaml import locate_yaml  # noqa: PLC0415 - only for the error

    pointer = join_pointer([key])
    position = locate_yaml(as_text(read_file(path, Limits().size)), [pointer])[pointer]
    what, hint = "a text", "put it in quotes"
    if key == ID and isinstance(value, str):
        what, hint = "an id", f"an id matches {SAFE_ID.pattern}; remove the line, and the next run makes one"
    shown = printable(repr(value))
    return DocumentError(
        f"{printable(path)}:{position.line}:{position.column}: {key} must be {what}, found {shown[:60]}",
        hint=hint,
    )


def _add_id(folder: str, new_id: NewId) -> JsonObject:
    """Write an id into the config.yaml of an experiment that has none; the first process to get the lock does it."""
    from runcard.encoding.yaml import edit_yaml  # noqa: PLC0415 - once for each experiment

    path = os.path.join(folder, layout.CONFIG)
    if os.path.islink(path):  # do not change a file elsewhere
        raise StoreError(f"{printable(path)} is a link and has no {ID}", hint=f"write {ID}: exp-… into it")
    try:
        with lock_folder(folder):
            data = read_experiment_config(folder)
            if data.get(ID) is None:
                data = {ID: new_id("exp"), **{key: value for key, value in data.items() if key != ID}}
                old = read_file(path, Limits().size) if os.path.lexists(path) else b""
                write_atomic(path, edit_yaml(old, data), follow=False)
                remove_temporary_files_for(path)
    except OSError as error:
        raise failure(error, path, "write the id of the experiment to") from error
    return data


class StoreExperimentId(NamedTuple):
    """The id of a store's own experiment, and what was wrong with the file that holds it."""

    id: str | None
    warning: str | None = None


def store_experiment_id(store: str, new_id: NewId) -> StoreExperimentId:
    """The id of a store's own experiment: made once, by the first process that needs it, and kept in the store."""
    folder = layout.own_folder(store)
    path = os.path.join(folder, "experiment")
    try:
        text = _read_id(path)
        if text is not None and is_safe_id(text):
            return StoreExperimentId(text)
        with open_own(store, folder, create=True):
            pass
        with lock_folder(folder):
            return _make_id(path, new_id)
    except OSError as error:
        raise failure(error, path, "write the id of the experiment to") from error


def _make_id(path: str, new_id: NewId) -> StoreExperimentId:
    """Write an id, unless another process did so before this one got the lock."""
    text = _read_id(path)
    if text is None:
        return StoreExperimentId(
            None, f"{printable(path)} is not a regular file: the experiment of the run is unknown"
        )
    if is_safe_id(text):
        return StoreExperimentId(text)
    identity = new_id("exp")
    write_atomic(path, f"{identity}\n".encode(), follow=False)
    return StoreExperimentId(
        identity, f"{printable(path)} held no id: it was replaced by {identity}" if text else None
    )


def _read_id(path: str) -> str | None:
    """The text of the file, empty where there is none; None for a link, a directory or a FIFO."""
    try:
        data = read_regular(path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENXIO}:
            return None
        raise
    return None if data is None else data.decode("ascii", "replace").strip(" \t\r\n\0")
