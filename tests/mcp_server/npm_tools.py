"""The official test programs of the protocol, from npm: `make tools` installs them."""

import os
import subprocess
from pathlib import Path

from install_tools import CLIENTS

NODE = CLIENTS / "bin" / "node22"
TIMEOUT = 240  # seconds


def run_tool(name: str, *arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a program with the version of Node that it needs."""
    program = CLIENTS / "bin" / name
    env = {"HOME": str(cwd), "PATH": os.environ["PATH"], "NO_COLOR": "1"}
    command = [str(NODE), str(program.resolve()), *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
