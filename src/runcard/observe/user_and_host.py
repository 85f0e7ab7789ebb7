"""The user, the host and the locale of this machine."""

import getpass
import os
import re
import sys
from collections.abc import Mapping

from runcard.encoding import JsonObject
from runcard.files import json_name
from runcard.observe.timezone import timezone
from runcard.version import __version__

_LOCALE = re.compile(r"(C|POSIX|[a-z]{2,3}(_[A-Z0-9]{2,3})?)(\.[A-Za-z0-9-]+)?(@[A-Za-z0-9]+)?", re.ASCII)


def user_and_host() -> str:
    """`user@host`; the number of a user without a name."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # for example in a container without that user
        user = str(os.getuid())
    return json_name(f"{user}@{os.uname().nodename}").text


def system_info() -> JsonObject:
    """The machine, as a team document describes it."""
    return {
        "runcard_version": __version__,
        "python_version": sys.version.split()[0],
        "os": sys.platform,
        "hostname": json_name(os.uname().nodename).text,
    }


def locality(variables: Mapping[str, str]) -> dict[str, str]:
    """The timezone and the language, as far as they are known."""
    values = {"timezone": timezone(variables), "language": language(variables)}
    return {name: value for name, value in values.items() if value is not None}


def language(variables: Mapping[str, str]) -> str | None:
    """The locale of messages for a program with these environment variables; None when none is set."""
    value = next((variables[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if variables.get(name)), None)
    return value if value is not None and _LOCALE.fullmatch(value) else None
