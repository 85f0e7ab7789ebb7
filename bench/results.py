"""What is kept: bench/RESULTS.md with all rows, and a chart of some for the README."""

import os
import platform
import subprocess
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench import chart
from bench.measuring import ROOT
from bench.table import HEADER, Row, cells

RESULTS = ROOT / "bench" / "RESULTS.md"


def save(rows: Sequence[Row], failed: Sequence[str], *, quick: bool) -> None:
    """Write the page and the chart."""
    page = results_page(rows, failed, machine(), quick=quick)
    RESULTS.write_text(page, "utf-8")
    chart.CHART.write_text(chart.drawing(page), "utf-8")


def results_page(rows: Sequence[Row], failed: Sequence[str], facts: Sequence[str], *, quick: bool) -> str:
    size = "smaller sizes (`--quick`)" if quick else "full size"
    lines = [
        "# Benchmarks",
        "",
        f"Written by `make bench ARGS=--save`, {size}. Programs took turns; each number is the best or the median of the",
        "rounds. Less is better. The ratio and the target compare the best, or the median where the target says so: `<= 2 x`",
        "allows twice what the peer needs, `>= 2 x` requires twice its speed. Other targets are limits without a peer; then",
        "the ratio is how many times as fast runcard is.",
        "",
        *(f"* {fact}" for fact in facts),
        *(f"* Not measured because of an error: {part}" for part in failed),
        "",
        *markdown(HEADER, [cells(row) for row in rows]),
    ]
    return "\n".join(lines) + "\n"


def markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    texts = [[cell.replace("|", "\\|").replace("<", "&lt;") for cell in line] for line in lines]
    rows = [list(header), ["---"] * len(header), *texts]
    return [f"| {' | '.join(row)} |" for row in rows]


def machine() -> list[str]:
    """Facts that numbers depend on; no names of hosts or people."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return [
        f"Date: {datetime.now(UTC):%Y-%m-%d}",
        f"Processor: {processor()}, {os.cpu_count()} cores; memory: {memory:.0f} GiB",
        f"System: {platform.system()} {platform.release()}; file system: {file_system()}",
        f"Python {platform.python_version()}",
    ]


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(iter(names), platform.machine())


def file_system() -> str:
    """The type of the file system that holds the scratch folders."""
    words = ["stat", "--file-system", "--format=%T", tempfile.gettempdir()]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
