"""Making the folder of an experiment. `config.yaml` comes last: a folder without one is not finished."""

import os

from runcard.encoding import JsonObject, Limits
from runcard.encoding.yaml import decode_yaml, encode_yaml
from runcard.errors import EncodingError, StoreError
from runcard.files import failure, printable, write_atomic
from runcard.observe.clock import Clock
from runcard.observe.ids import new_id
from runcard.operations.checks.load import read_document
from runcard.operations.experiments import (
    CREATED,
    DESCRIPTION,
    ID,
    OWN_KEYS,
    Experiment,
    checked_name,
    folder_of,
)
from runcard.operations.runs.configuration import read_file
from runcard.store import layout
from runcard.views.experiment_readme import experiment_readme

_HEAD = """\
# The experiment {name}. `runcard run --experiment {name} -- COMMAND` reads this file.
#
# The id was made once, and every run has it: leave it as it is.
"""

_CONFIGURATION = """
# Everything below is the configuration that every run begins with; what a run is given itself goes before it.
"""

_EXAMPLE = """\
# For example:
#
# model: the-name-of-a-model
# provider: whose-model-it-is
# temperature: 0.2
"""


def create(name: str, *, description: str | None = None, config: str | None = None) -> Experiment:
    """Make an experiment; `config` is a file to take its configuration from. Never touches one that exists."""
    path = layout.experiment_folder(checked_name(name))
    given = read_file(config) if config is not None else {}
    if folder_of(name) and os.path.lexists(os.path.join(path, layout.CONFIG)):
        raise _exists(path)
    told = description if description is not None else given.get(DESCRIPTION)
    own = {
        ID: new_id("exp"),
        CREATED: Clock().timestamp(),
        DESCRIPTION: told if isinstance(told, str) else None,
    }
    own = {key: value for key, value in own.items() if value is not None}
    configuration = {key: value for key, value in given.items() if key not in OWN_KEYS}
    text = _text(name, own, configuration, _source(config))
    try:
        for folder in (layout.DATA, layout.OUTPUTS):
            os.makedirs(os.path.join(path, folder), exist_ok=True)
        _write_new(os.path.join(path, layout.README), experiment_readme(name, own).encode())
        if not _write_new(os.path.join(path, layout.CONFIG), text):
            raise _exists(path)
    except OSError as error:
        raise failure(error, path, "create") from error
    return Experiment(name, path, str(own[ID]), own[CREATED], own.get(DESCRIPTION), configuration)


def _exists(path: str) -> StoreError:
    return StoreError(
        f"{printable(path)} exists already",
        hint=f"see it with: runcard experiment show {os.path.basename(path)}",
    )


def _write_new(path: str, data: bytes) -> bool:
    """Write a file, unless somebody has one there."""
    try:
        write_atomic(path, data, replace=False)
    except FileExistsError:
        return False
    return True


def _source(config: str | None) -> bytes | None:
    """The text of a configuration that is YAML already: its comments are worth keeping."""
    if config is None or not config.lower().endswith((".yaml", ".yml")):
        return None
    return read_document(config, Limits())


def _text(name: str, own: JsonObject, configuration: JsonObject, source: bytes | None) -> bytes:
    head = _HEAD.format(name=name).encode() + encode_yaml(own) + _CONFIGURATION.encode()
    if not configuration:
        return head + _EXAMPLE.encode()
    if source is not None and _says(head + source, own | configuration):
        return head + source
    return head + encode_yaml(configuration)


def _says(text: bytes, data: JsonObject) -> bool:
    try:
        return bool(decode_yaml(text) == data)
    except EncodingError:
        return False
