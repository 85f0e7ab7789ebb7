"""Experiments: a name under which runs belong together, and a folder for those that want more than a name.

The folder is `experiments/NAME/`, seen from the directory that the user works in. Its `config.yaml` holds the id of the
experiment, made once, and the configuration that its runs begin with; `data/` their inputs; `outputs/` the runs.
"""

import os
from dataclasses import dataclass

from runcard.encoding import JsonObject, Limits, as_text, join_pointer
from runcard.errors import DocumentError, StoreError, UsageError
from runcard.files import SAFE_ID, failure, is_safe_id, printable, write_atomic
from runcard.files.temporary_files import remove_temporary_files_for
from runcard.observe.ids import new_id
from runcard.operations.checks.load import read_document
from runcard.operations.runs.configuration import read_file
from runcard.store import layout
from runcard.store.experiments import id_of_name
from runcard.store.runs.directory import alone

ID, CREATED, DESCRIPTION = "experiment_id", "created_at", "description"
OWN_KEYS = (ID, CREATED, DESCRIPTION)  # of config.yaml; all others are configuration


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment that has a folder."""

    name: str
    path: str
    experiment_id: str
    created_at: str | None
    description: str | None
    config: JsonObject  # what its runs begin with

    @property
    def inputs(self) -> tuple[str, ...]:
        """The patterns of what its runs read: the folder with its data, when there is something in it."""
        folder = os.path.join(self.path, layout.DATA)
        try:
            return (folder,) if any(not name.startswith(".") for name in os.listdir(folder)) else ()
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError:
            return (folder,)  # finding the inputs says what is wrong with it

    @property
    def outputs(self) -> str:
        """The store that its runs go to."""
        return os.path.join(self.path, layout.OUTPUTS)


def find(name: str) -> Experiment | None:
    """The experiment of this name, when it has a folder; raises an error that says what is wrong with its config.yaml."""
    path = folder_of(name)
    if path is None:
        return None
    found = read_config(path)
    if found.get(ID) is None:
        found = _given_an_id(path)
    config = {key: value for key, value in found.items() if key not in OWN_KEYS}
    return Experiment(name, path, found[ID], found.get(CREATED), found.get(DESCRIPTION), config)


def identify(name: str) -> str:
    """The id of the experiment of this name: the one that its folder keeps, else one that follows from the name."""
    found = find(name)
    return found.experiment_id if found else id_of_name(name)


def checked_name(name: str) -> str:
    if not is_safe_id(name):
        raise UsageError(
            f"experiment {printable(name)!r} cannot be a name",
            hint=f"use letters, digits, dots, dashes, underscores: {SAFE_ID.pattern}",
        )
    return name


def no_experiment(name: str) -> StoreError:
    """The error to raise about a name that no experiment has, with the one that may be meant."""
    from difflib import get_close_matches  # noqa: PLC0415 - only in trouble

    try:
        known = [entry.name for entry in os.scandir(layout.EXPERIMENTS) if entry.is_dir()]
    except OSError:
        known = []
    close = get_close_matches(name, sorted(known), n=1)
    return StoreError(
        f"there is no experiment {printable(name)}",
        hint=f"did you mean {close[0]}?" if close else "see which there are with: runcard experiment list",
    )


def folder_of(name: str) -> str | None:
    """The folder of an experiment, if it has one. A link in its place leads who knows where, and is refused."""
    path = layout.experiment_folder(checked_name(name))
    if os.path.islink(path):
        raise StoreError(
            f"{printable(path)} is a link, not the folder of an experiment",
            hint="put the folder itself in its place",
        )
    return path if os.path.isdir(path) else None


def read_config(folder: str) -> JsonObject:
    """What config.yaml says, its own keys checked; nothing where there is none."""
    path = os.path.join(folder, layout.CONFIG)
    if not os.path.lexists(path):
        return {}
    if not layout.may_be_file(path, follow=True):
        raise StoreError(f"{printable(path)} is no file", hint="put a file in its place, or remove it")
    data = read_file(path)
    for key in OWN_KEYS:
        value = data.get(key)
        if value is not None and (not isinstance(value, str) or (key == ID and not is_safe_id(value))):
            raise _refused(path, key, value)
    return data


def _refused(path: str, key: str, value: object) -> DocumentError:
    """What is wrong with one of the keys that are ours, and where it stands."""
    from runcard.encoding.yaml import locate_yaml  # noqa: PLC0415 - only in trouble

    pointer = join_pointer([key])
    place = locate_yaml(as_text(read_document(path, Limits())), [pointer])[pointer]
    what, hint = "a text", "put it in quotes"
    if key == ID and isinstance(value, str):
        what, hint = "an id", f"an id is {SAFE_ID.pattern}; remove the line, and the next run makes one"
    shown = printable(repr(value))
    return DocumentError(
        f"{printable(path)}:{place.line}:{place.column}: {key} must be {what}, found {shown[:60]}", hint=hint
    )


def _given_an_id(folder: str) -> JsonObject:
    """Make the id of an experiment whose folder has none yet; whoever comes first makes it."""
    from runcard.encoding.yaml import edit_yaml  # noqa: PLC0415 - once for each experiment

    path = os.path.join(folder, layout.CONFIG)
    if os.path.islink(path):  # whose file would be changed?
        raise StoreError(f"{printable(path)} is a link and has no {ID}", hint=f"write {ID}: exp-… into it")
    try:
        with alone(folder):
            data = read_config(folder)
            if data.get(ID) is None:
                data = {ID: new_id("exp"), **{key: value for key, value in data.items() if key != ID}}
                old = read_document(path, Limits()) if os.path.lexists(path) else b""
                write_atomic(path, edit_yaml(old, data), follow=False)
                remove_temporary_files_for(path)
    except OSError as error:
        raise failure(error, path, "keep the id of the experiment in") from error
    return data
