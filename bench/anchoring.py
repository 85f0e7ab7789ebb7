"""Anchoring a store: all of its records in one time-stamp, against reading and hashing their documents with `sha256sum`."""

from collections.abc import Iterator

from bench.measuring import RUNCARD, command, cost, race, scratch, two_cores
from bench.table import Row, Target, Times, at_most
from bench.verifying import record


def measure(*, quick: bool = False) -> Iterator[Row]:
    number, rounds = (500, 3) if quick else (10_000, 5)
    with two_cores(), scratch() as folder:
        small, large = folder / "small", folder / "large"
        record(small, number // 10)
        record(large, number)
        for store in (small, large):
            (store / ".runcard" / "anchors").mkdir()
        request = folder / "request.tsq"

        def anchor(store: str) -> list[str]:
            made = f"rm -f {request} {folder}/{store}/.runcard/anchors/*"
            return ["sh", "-c", f"{made}; {RUNCARD} anchor -q {folder}/{store} --request {request}"]

        summed = f"find {large} -name metadata.json -print0 | xargs -0 sha256sum"
        peer = "find, sha256sum of the documents"
        times = race({"ours": command(*anchor("large")), peer: command("sh", "-c", summed)}, rounds)
        yield Row(f"runcard anchor, {number:,} runs", times["ours"], peer, times[peer], "s", at_most(4))
        few, many = cost(anchor("small")).megabytes, cost(anchor("large")).megabytes
        work = f"memory of runcard anchor, {number:,} runs more than {number // 10:,}"
        yield Row(work, Times.once(many - few), "", None, "MB", Target("<=", 20, "MB"))
