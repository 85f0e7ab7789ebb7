"""Write the current `--help` of every command into docs/command-line.md, in place of what each sample shows."""  # noqa: INP001

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "command-line.md"
SAMPLE = re.compile(r"^\$ (runcard(?: [a-z-]+)* --help)\n(?:(?!```|\$ ).*\n)*", re.MULTILINE)


def current(match: re.Match[str]) -> str:
    """The sample of one command, with its help as a terminal of 80 columns shows it."""
    arguments = match[1].split()[1:]
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "runcard", *arguments],
        capture_output=True,
        text=True,
        env=os.environ | {"COLUMNS": "80"},
        check=False,
    )
    return f"$ {match[1]}\n{done.stdout}" if done.returncode == 0 else match[0]


if __name__ == "__main__":
    PAGE.write_text(SAMPLE.sub(current, PAGE.read_text("utf-8")), "utf-8")
