"""Signatures: what signing a record takes, and what checking a signature adds to verifying one."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from bench.measuring import race, scratch, two_cores
from bench.table import Row, Target, Times
from bench.verifying import record


def measure(*, quick: bool = False) -> Iterator[Row]:
    number, rounds = (50, 5) if quick else (200, 9)
    with two_cores(), scratch() as folder:
        plain, signed = folder / "plain", folder / "signed"
        record(folder / "recorded", number)
        for copy in (plain, signed):
            shutil.copytree(folder / "recorded", copy, symlinks=True)
        yield Row("sign one run, CPU", _sign(folder, signed), "", None, "ms", Target("<=", 3, "ms"))
        yield _verify(plain, signed, number, rounds)


def _sign(folder: Path, store: Path) -> Times:
    """Each record is signed once; the first time loads modules and does not count.

    Two syncs wait for the disk, which other processes keep busy: that is not counted.
    """
    from runcard.operations.signatures.keygen import keygen  # noqa: PLC0415
    from runcard.recording.record_signature import add_signature  # noqa: PLC0415
    from runcard.signing.private_keys import load_signer  # noqa: PLC0415

    keygen(folder / "key", name="me")
    signer = load_signer(os.fspath(folder / "key"))
    times = []
    for run in sorted(store.glob("2*")):
        began = time.process_time()
        add_signature(str(run), signer)
        times.append(time.process_time() - began)
    return Times.of(times[1:], 1000)


def _verify(plain: Path, signed: Path, number: int, rounds: int) -> Row:
    """The difference between a signed and an unsigned copy of the same records, for each of them."""

    def verify_all(store: Path) -> float:
        from runcard.store.record import DirectoryRecord  # noqa: PLC0415
        from runcard.store.verification import verify_record  # noqa: PLC0415

        began = time.process_time()  # a difference of wall times is mostly noise
        for run in store.glob("2*"):
            verify_record(DirectoryRecord(str(run)))
        return time.process_time() - began

    times = race({"plain": lambda: verify_all(plain), "signed": lambda: verify_all(signed)}, rounds)
    more = Times(
        *(max(0.0, b - a) / number * 1000 for a, b in zip(times["plain"], times["signed"], strict=True))
    )
    return Row("verify one run: its signature alone, CPU", more, "", None, "ms", Target("<=", 2, "ms"))
