"""A command typed into a shell by somebody whose home is empty."""

import os
import subprocess
from pathlib import Path

# How this machine reaches its package index; nothing else of this process.
_KEPT = ("PATH", "LANG", "PIP_", "UV_", "SSL_CERT_", "HTTPS_PROXY", "https_proxy")


def typed(command: str, folder: Path, home: Path, *, code: int = 0, programs: Path | None = None) -> str:
    """What it prints; `programs` is a folder of programs that the shell finds first."""
    env = {name: value for name, value in os.environ.items() if name.startswith(_KEPT)}
    if programs is not None:
        env["PATH"] = f"{programs}{os.pathsep}{env['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={**env, "HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout
    return done.stdout
