"""Make what the README shows of the demo: `python scripts/update_demo.py [FOLDER]`.

The commands below are run in a temporary folder. What they print, in color, is docs/images/terminal.svg; the record is in
examples/demo-record, and as it is after the change in examples/demo-record-changed. A test runs the commands again, and compares
what they print.
"""  # noqa: INP001

import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from runcard.cli.demo.model import demo_environment, scripted_model
from runcard.cli.demo.tour import prepare

ROOT = Path(__file__).parents[1]
PICTURE = Path("docs", "images", "terminal.svg")
RECORD, CHANGED = Path("examples", "demo-record"), Path("examples", "demo-record-changed")
COMMANDS = (
    "runcard run --input 'interviews/*.md' -- python personas.py",
    "runcard verify @latest",
    "sed -i s/Ada/Ida/ outputs/*/personas/ada.json",
    "runcard verify @latest",
)
_FOLDER = "/home/ada/project"  # what the picture shows in place of the temporary folder
_COLUMNS, _CHARACTER, _LINE, _MARGIN = 88, 8.43, 20, 20
_COLORS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "36": "#79c0ff", "2": "#9198a1"}
_GAP = 10
_SPACE = "\N{NO-BREAK SPACE}"  # others at the beginning of a row are not shown
_PROMPT = f'<tspan fill="#79c0ff">${_SPACE}'
_ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")
_ROW = re.compile(r"<text( class=\"more\")?[^>]*>(.*)</text>")


def run_commands(folder: Path) -> Iterator[str]:
    """After each command, what a terminal shows of it, with escape sequences for colors."""
    prepare(str(folder))
    with scripted_model() as address:
        environment = {**demo_environment(address), "FORCE_COLOR": "1", "HOME": str(folder.parent)}
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        for command in COMMANDS:
            done = subprocess.run(  # noqa: S603 - the commands above
                ["bash", "-c", command],  # noqa: S607
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            yield f"$ {command}\n{done.stdout}".replace(str(folder), _FOLDER)


def draw(text: str) -> str:
    """The picture of a text with escape sequences for colors."""
    rows = [row for line in text.splitlines() for row in _rows(line)]
    width = round(_COLUMNS * _CHARACTER) + 2 * _MARGIN
    tops = list(accumulate((_LINE + (_GAP if row.startswith(_PROMPT) else 0) for row, _ in rows), initial=0))
    height = tops[-1] + _MARGIN + _GAP
    font = 'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
        "<title>A run is recorded and verified; then a file is changed, and verify names it.</title>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#161b22"/>',
        f'<g {font} font-size="14" fill="#e6edf3">',
    ]
    for (row, is_more), bottom in zip(rows, tops[1:], strict=True):
        place = f'x="{_MARGIN}" y="{bottom + _GAP}"'
        more = ' class="more"' if is_more else ""
        lines.append(f"<text{more} {place}>{row}</text>")
    return "\n".join([*lines, "</g>", "</svg>"]) + "\n"


def read(picture: str) -> str:
    """The text in a picture."""
    rows = [(more, html.unescape(re.sub("<[^>]*>", "", row))) for more, row in _ROW.findall(picture)]
    text = "".join(row if more else f"\n{row}" for more, row in rows).removeprefix("\n") + "\n"
    return text.replace(_SPACE, " ")


def _rows(line: str) -> Iterator[tuple[str, bool]]:
    """The rows that a terminal shows of a line, each with whether it continues the one before."""
    cells: list[tuple[str, str]] = []  # of each character: its style
    style = "#79c0ff" if line.startswith("$ ") else ""
    for number, part in enumerate(_ESCAPE.split(line)):
        if number % 2:
            codes = part.split(";")
            style = next((_COLORS[code] for code in codes if code in _COLORS), "") if part != "1" else style
        else:
            cells += [(character, style) for character in part.replace(" ", _SPACE)]
    for first in range(0, max(len(cells), 1), _COLUMNS):
        yield _spans(cells[first : first + _COLUMNS]), first > 0


def _spans(cells: list[tuple[str, str]]) -> str:
    spans: list[tuple[str, str]] = []
    for character, style in cells:
        if spans and spans[-1][1] == style:
            spans[-1] = (spans[-1][0] + character, style)
        else:
            spans.append((character, style))
    return "".join(
        f'<tspan fill="{style}">{html.escape(text)}</tspan>' if style else html.escape(text)
        for text, style in spans
    )


def main() -> int:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "project")
        folder.mkdir()
        shown = ""
        for text in run_commands(folder):
            shown += text
            record = next(folder.glob("outputs/*-*"))
            copy = target / (CHANGED if "Ida" in (record / "personas" / "ada.json").read_text() else RECORD)
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(record, copy)
    (target / PICTURE).parent.mkdir(parents=True, exist_ok=True)
    (target / PICTURE).write_text(draw(shown), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
