"""The inputs that a run's document lists."""

import os
from base64 import b64decode

from runcard.encoding import JsonObject


def input_entries(document: JsonObject) -> list[JsonObject]:
    """The inputs of a run; older documents have only their paths."""
    files = document["data_sources"]["files"] or []
    return [file if isinstance(file, dict) else {"path": file} for file in files]


def input_path(entry: JsonObject) -> str:
    """The path of an input as this machine writes it."""
    base64 = entry.get("path_base64")
    return str(entry["path"]) if base64 is None else os.fsdecode(b64decode(base64))
