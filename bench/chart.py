"""docs/images/speed.svg: four rows of bench/RESULTS.md as bars. The page has the other rows, also those that are slower."""

import html
from typing import NamedTuple

from bench.measuring import ROOT

CHART = ROOT / "docs" / "images" / "speed.svg"
BARS = (  # work and peer, as in the results; how the chart calls both
    (
        "runcard validate, 200 files",
        "check-jsonschema (schema only)",
        "Validate 200 files",
        "check-jsonschema",
    ),
    ("model call, first byte later than direct (median)", "claude-tap", "Meter a model call", "claude-tap"),
    ("runcard run -- true, over true", "datalad run true", "Record a command", "DataLad"),
    ("record one run", "MLflow, SQLite", "Record a run from Python", "MLflow"),
)
_WIDTH, _LEFT, _RIGHT, _ROW, _BAR = 760, 210, 210, 44, 20
_STYLE = """
text { font: 14px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
.note { font-size: 12px; fill: #59636e }
.ours { fill: #0b57a8 }
.peer { stroke: #59636e; stroke-dasharray: 3 3 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.note { fill: #9198a1 }
.ours { fill: #5c9ce6 }
.peer { stroke: #9198a1 }
}
"""


class Bar(NamedTuple):
    """A task: how many times as fast as another program, and the times of both."""

    task: str
    peer: str
    ours: str
    theirs: str
    ratio: float


def bars(page: str) -> list[Bar]:
    """The bars, from the text of bench/RESULTS.md: those whose peer was measured."""
    table = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in page.splitlines()]
    rows = {(row[0].strip("| "), row[3]): row for row in table if len(row) == 10}
    found = []
    for work, peer, task, name in BARS:
        if (work, peer) in rows:
            _, ours, _, _, theirs, _, unit, *_ = rows[work, peer]
            found.append(Bar(task, name, f"{ours} {unit}", f"{theirs} {unit}", _value(theirs) / _value(ours)))
    return sorted(found, key=lambda bar: -bar.ratio)


def _value(cell: str) -> float:
    return float(cell.replace(",", ""))


def drawing(page: str) -> str:
    """The chart as SVG, readable on a light and on a dark page."""
    found = bars(page)
    scale = (_WIDTH - _LEFT - _RIGHT) / max(bar.ratio for bar in found)
    height = _ROW * len(found) + 30
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" role="img">',
        f"<title>{_text(_summary(found))}</title>",
        f"<style>{_STYLE}</style>",
    ]
    for number, bar in enumerate(found):
        top = _ROW * number + 8
        times = f"{bar.ours} vs {bar.theirs}"
        lines += [
            f'<text x="{_LEFT - 12}" y="{top + 15}" text-anchor="end">{_text(bar.task)}</text>',
            f'<rect class="ours" x="{_LEFT}" y="{top}" width="{bar.ratio * scale:.0f}" height="{_BAR}" rx="3"/>',
            f'<text x="{_LEFT + bar.ratio * scale + 8:.0f}" y="{top + 9}">{bar.ratio:.1f} × {_text(bar.peer)}</text>',
            f'<text class="note" x="{_LEFT + bar.ratio * scale + 8:.0f}" y="{top + 24}">{_text(times)}</text>',
        ]
    one, bottom = _LEFT + scale, _ROW * len(found)
    lines += [
        f'<line class="peer" x1="{one:.0f}" y1="0" x2="{one:.0f}" y2="{bottom + 4}"/>',
        f'<text class="note" x="{one:.0f}" y="{bottom + 20}" text-anchor="middle">1 × (the other program)</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _summary(found: list[Bar]) -> str:
    return "; ".join(f"{bar.task}: {bar.ratio:.1f} times as fast as {bar.peer}" for bar in found)


def _text(text: str) -> str:
    return html.escape(text, quote=False)
