"""All benchmarks in one table: runcard and its peers, measured in turns on the same machine.

make bench                     everything at full size, about 15 minutes on two quiet cores
make bench ARGS=--quick        smaller sizes, about 3 minutes
make bench ARGS="startup ..."  some parts: startup, documents, hashing, recording, concurrency, running, metering, masking,
                               collecting, archiving, remote, verifying, spreading, scaling, anchoring, signing, journals, plans,
                               ruby, transcripts, catalog, mcp, page
make bench ARGS=--save         keep the table in bench/RESULTS.md, and its chart in docs/images/speed.svg

Exit codes: 0 all targets met, 1 a target missed or a part failed, 64 wrong usage.
"""

import signal
import sys
import time
import traceback
from collections.abc import Iterator
from typing import Protocol

from bench import (
    anchoring,
    archiving,
    catalog,
    collecting,
    concurrency,
    documents,
    hashing,
    journals,
    masking,
    mcp,
    metering,
    page,
    plans,
    recording,
    remote,
    results,
    ruby,
    running,
    scaling,
    signing,
    spreading,
    startup,
    transcripts,
    verifying,
)
from bench.table import Row, print_table


class Part(Protocol):
    """Measures one subject, row by row."""

    def __call__(self, *, quick: bool = False) -> Iterator[Row]: ...


PARTS: dict[str, Part] = {
    "startup": startup.measure,
    "documents": documents.measure,
    "hashing": hashing.measure,
    "recording": recording.measure,
    "concurrency": concurrency.measure,
    "running": running.measure,
    "metering": metering.measure,
    "masking": masking.measure,
    "collecting": collecting.measure,
    "archiving": archiving.measure,
    "remote": remote.measure,
    "verifying": verifying.measure,
    "spreading": spreading.measure,
    "scaling": scaling.measure,
    "anchoring": anchoring.measure,
    "signing": signing.measure,
    "journals": journals.measure,
    "plans": plans.measure,
    "ruby": ruby.measure,
    "transcripts": transcripts.measure,
    "catalog": catalog.measure,
    "mcp": mcp.measure,
    "page": page.measure,
}
OPTIONS = {"--quick", "--save"}


def main(arguments: list[str]) -> int:
    unknown = [word for word in arguments if word not in PARTS and word not in OPTIONS]
    wanted = [part for part in PARTS if part in arguments] or list(PARTS)
    if unknown or ("--save" in arguments and len(wanted) < len(PARTS)):
        problem = f"unknown: {' '.join(unknown)}" if unknown else "--save needs all parts"
        print(f"Error: {problem}\n{__doc__}", file=sys.stderr)
        return 64
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    quick = "--quick" in arguments
    rows, failed = measure(wanted, quick=quick)
    if "--save" in arguments:
        results.save(rows, failed, quick=quick)
    return 0 if not failed and all(row.ok is not False for row in rows) else 1


def stop(number: int, _: object) -> None:
    """End with what was measured; scratch folders are removed, which a second signal does not interrupt."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)


def measure(wanted: list[str], *, quick: bool) -> tuple[list[Row], list[str]]:
    """All rows, and the parts that failed; what was measured is printed in any case."""
    rows: list[Row] = []
    failed: list[str] = []
    try:
        for part in wanted:
            began = time.monotonic()
            print(f"measuring {part} ...", file=sys.stderr, flush=True)
            try:
                rows.extend(PARTS[part](quick=quick))
            except Exception:  # noqa: BLE001 - the other parts are measured all the same
                traceback.print_exc()
                failed.append(part)
            print(f"  {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    finally:
        print_table(rows)
    for part in failed:
        print(f"FAILED: {part}; see the error above")
    return rows, failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
