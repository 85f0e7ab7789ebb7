"""Running a piece of Python as somebody without rights, also when the tests run as root, who may do everything."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534

_PRELUDE = f"""
import ctypes, os, sys
from runcard import checksums, errors, files
from runcard.checksums import large_files  # while they can be read
from runcard.parallel import helper_pool
from runcard.store.sessions import copying
{{imports}}
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid({NOBODY})
    os.setuid({NOBODY})
root = sys.argv[1]
"""


@contextmanager
def everybodys_directory() -> Iterator[Path]:
    """A directory that everybody can enter and write to; the temporary folder of a test belongs to one user alone."""
    path = Path(tempfile.mkdtemp(dir="/tmp"))
    path.chmod(0o777)
    try:
        yield path
    finally:
        shutil.rmtree(path)


@contextmanager
def without_rights() -> Iterator[None]:
    """This process as another user than root. What is not imported yet may not be readable then."""
    user = os.geteuid()
    os.seteuid(user or NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


def as_nobody(root: Path, code: str, imports: str = "") -> str:
    """What `code` prints; it sees `root`, the modules checksums, copying, errors and files, and what is imported."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE")}
    environment["TMPDIR"] = str(root)
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-c", _PRELUDE.format(imports=imports) + code, str(root)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        cwd=root,  # where no settings file is found
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
