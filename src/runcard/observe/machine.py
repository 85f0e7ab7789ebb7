"""Who works here, and on which machine."""

import getpass
import os
import sys
from collections.abc import Mapping

from runcard.encoding import JsonObject
from runcard.files import json_name
from runcard.observe.language import language
from runcard.observe.timezone import timezone
from runcard.version import __version__


def user_and_host() -> str:
    """Who this is, as `user@host`; the number of a user who has no name."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container, for one, whose user stands nowhere
        user = str(os.getuid())
    return json_name(f"{user}@{os.uname().nodename}").text


def system_info() -> JsonObject:
    """The machine, as a team document tells of it."""
    return {
        "runcard_version": __version__,
        "python_version": sys.version.split()[0],
        "os": sys.platform,
        "hostname": json_name(os.uname().nodename).text,
    }


def locality(variables: Mapping[str, str]) -> dict[str, str]:
    """The time zone and the language here, as far as they are known."""
    said = {"timezone": timezone(variables), "language": language(variables)}
    return {name: value for name, value in said.items() if value is not None}
