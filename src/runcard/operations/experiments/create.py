"""Create the folder of an experiment. `config.yaml` is written last: a folder without one is not finished."""

import os
from collections.abc import Mapping
from typing import Any

from runcard.encoding import JsonObject, Limits
from runcard.encoding.yaml import decode_yaml, encode_yaml
from runcard.errors import EncodingError, StoreError
from runcard.files import failure, printable, read_file, write_atomic
from runcard.observe.clock import Clock
from runcard.observe.ids import new_id
from runcard.store import layout
from runcard.store.experiments import (
    CREATED,
    DESCRIPTION,
    ID,
    OWN_KEYS,
    Experiment,
    check_experiment_name,
    find_experiment_folder,
)
from runcard.store.known_stores import note_store
from runcard.store.runs.configuration import read_config_file
from runcard.views.experiment_readme import experiment_readme

_HEAD = """\
# The experiment {name}. `runcard run --experiment {name} -- COMMAND` reads this file.
#
# The id is in every run of the experiment: do not change it.
"""

_CONFIGURATION = """
# Everything below is the configuration that every run starts with; options of a run override it.
"""

_EXAMPLE = """\
# For example:
#
# model: name-of-the-model
# provider: name-of-the-vendor
# temperature: 0.2
"""


def create_experiment(
    name: str,
    *,
    description: str | None = None,
    config: str | os.PathLike[str] | Mapping[str, Any] | None = None,
) -> Experiment:
    """Create the folder of an experiment below the current directory. An existing experiment is not changed.

    `config` is the configuration that its runs start with, or a JSON, YAML or TOML file with it.
    """
    path = layout.experiment_folder(check_experiment_name(name))
    file = None if config is None or isinstance(config, Mapping) else os.fspath(config)
    data = read_config_file(file) if file is not None else dict(config) if isinstance(config, Mapping) else {}
    if find_experiment_folder(name) and os.path.lexists(os.path.join(path, layout.CONFIG)):
        raise _exists(path)
    text = description if description is not None else data.get(DESCRIPTION)
    own = {
        ID: new_id("exp"),
        CREATED: Clock().timestamp(),
        DESCRIPTION: text if isinstance(text, str) else None,
    }
    own = {key: value for key, value in own.items() if value is not None}
    configuration = {key: value for key, value in data.items() if key not in OWN_KEYS}
    content = _config_text(name, own, configuration, _source(file))
    try:
        for folder in (layout.DATA, layout.OUTPUTS):
            os.makedirs(os.path.join(path, folder), exist_ok=True)
        _write_new(os.path.join(path, layout.README), experiment_readme(name, own).encode())
        if not _write_new(os.path.join(path, layout.CONFIG), content):
            raise _exists(path)
    except OSError as error:
        raise failure(error, path, "create") from error
    note_store(os.path.join(path, layout.OUTPUTS))
    return Experiment(name, path, str(own[ID]), own[CREATED], own.get(DESCRIPTION), configuration)


def _exists(path: str) -> StoreError:
    return StoreError(
        f"{printable(path)} exists already",
        hint=f"show it with: runcard experiment show {os.path.basename(path)}",
    )


def _write_new(path: str, data: bytes) -> bool:
    """Write a file, unless there is one."""
    try:
        write_atomic(path, data, replace=False)
    except FileExistsError:
        return False
    return True


def _source(config: str | None) -> bytes | None:
    """The text of a YAML configuration, to keep its comments; None for another format."""
    if config is None or not config.lower().endswith((".yaml", ".yml")):
        return None
    return read_file(config, Limits().size)


def _config_text(name: str, own: JsonObject, configuration: JsonObject, source: bytes | None) -> bytes:
    head = _HEAD.format(name=name).encode() + encode_yaml(own) + _CONFIGURATION.encode()
    if not configuration:
        return head + _EXAMPLE.encode()
    if source is not None and _is_equal(head + source, own | configuration):
        return head + source
    return head + encode_yaml(configuration)


def _is_equal(text: bytes, data: JsonObject) -> bool:
    try:
        return bool(decode_yaml(text) == data)
    except EncodingError:
        return False
