"""What to type to start this runcard again."""

import os
import shlex
import shutil
import sys


def typed_command(*, elsewhere: bool = False) -> str:
    """`runcard` if the shell finds it, else the path it was started by; with `elsewhere`, one that works in any folder."""
    started = sys.argv[0]
    is_script = os.path.basename(started) == "runcard" and os.path.isfile(started)
    script = started if is_script else os.path.join(os.path.dirname(sys.executable), "runcard")
    if not os.path.isfile(script):
        return f"{shlex.quote(sys.executable)} -m runcard"
    found = shutil.which("runcard")
    if found is not None and os.path.samefile(found, script):
        return "runcard"
    return shlex.quote(os.path.abspath(script) if elsewhere else script)
