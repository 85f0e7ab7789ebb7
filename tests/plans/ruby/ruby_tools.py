"""Ruby's own tools, as a reference."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SHOP = HERE / "shop"


def answers(script: str, files: Sequence[Path]) -> list[Any]:
    """What a script of this folder says about files: a line of JSON each."""
    command = ["ruby", "-EUTF-8:UTF-8", str(HERE / script), *map(str, files)]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return [json.loads(line) for line in done.stdout.splitlines()]
