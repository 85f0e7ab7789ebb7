"""The version of the program that generated: `environment.<name>_version` of a run's document.

A program called persona has `persona_version`. `runcard_version` and `python_version` are facts of their own, which no
program can replace.
"""

import re

from runcard.encoding import JsonObject

_OTHER_KEYS = ("runcard_version", "python_version")
_KEY = "[a-z0-9][a-z0-9_]*_version"


def version_key(name: str) -> str | None:
    """The key for the version of a program; None for a name whose key has another meaning."""
    key = f"{re.sub('[-_.]+', '_', name).lower()}_version"
    return None if key in _OTHER_KEYS else key


def program_versions(environment: JsonObject) -> dict[str, str]:
    """The versions of the programs that generated, by their keys; empty where none is known."""
    return {
        key: value
        for key, value in environment.items()
        if key not in _OTHER_KEYS and isinstance(value, str) and re.fullmatch(_KEY, key)
    }


def labelled_versions(environment: JsonObject) -> list[tuple[str, str]]:
    """The same for people: `persona version` and `0.9.0`."""
    return [(key.replace("_", " "), version) for key, version in program_versions(environment).items()]
