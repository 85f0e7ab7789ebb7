"""Ruby's own tools, if they are installed, as a reference."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
SHOP = HERE / "shop"


@cache
def has_ruby(*libraries: str) -> bool:
    """Whether Ruby and these libraries are installed."""
    if shutil.which("ruby") is None:
        return False
    wanted = [f"-r{library}" for library in libraries]
    done = subprocess.run(["ruby", *wanted, "-e", "0"], capture_output=True, timeout=60, check=False)
    return done.returncode == 0


needs_ruby = pytest.mark.skipif(not has_ruby("ripper"), reason="NOT TESTED against Ruby: needs ruby")
needs_rails = pytest.mark.skipif(
    not has_ruby("active_support"), reason="NOT TESTED against Ruby: needs ruby-activesupport"
)
needs_factory_bot = pytest.mark.skipif(
    not has_ruby("active_support", "factory_bot"),
    reason="NOT TESTED against factory_bot: needs ruby-factory-bot",
)


def answers(script: str, files: Sequence[Path]) -> list[Any]:
    """What a script of this folder says about files: a line of JSON each."""
    command = ["ruby", "-EUTF-8:UTF-8", str(HERE / script), *map(str, files)]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return [json.loads(line) for line in done.stdout.splitlines()]
