"""Archives and bundles as an attacker would make them, and the commands that a victim would type."""

import gzip
import io
import os
import resource
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

SECONDS = 30  # far more than any refusal takes, even on a busy machine
MEMORY = 2 << 30  # bytes of address space that a command may use

Craft = Callable[[tarfile.TarFile], None]


def runcard(
    folder: Path,
    *arguments: str | Path,
    stdin: int | None = None,
    memory: int | None = None,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Run a command of runcard; one that does not end in time fails the test."""
    own = {
        name: value for name, value in os.environ.items() if not name.startswith(("RUNCARD_", "ARTIFACTS_"))
    }

    def limit() -> None:
        if memory is not None:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    return subprocess.run(
        [sys.executable, "-m", "runcard", *map(str, arguments)],
        cwd=folder,
        env=own | variables,
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        preexec_fn=limit,
    )


def member(name: str, kind: bytes = tarfile.REGTYPE, **facts: Any) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    for key, value in facts.items():
        setattr(info, key, value)
    return info


def link(name: str, target: str) -> tarfile.TarInfo:
    return member(name, tarfile.SYMTYPE, linkname=target)


def file(name: str, data: bytes = b"evil") -> tuple[tarfile.TarInfo, bytes]:
    return member(name, size=len(data)), data


def foreign_archive(record: Path, target: Path, extra: Iterable[tarfile.TarInfo] = ()) -> Path:
    """The archive of a record as plain `tar` makes it, with more members at its end."""
    with tarfile.open(target, "w:gz") as tar:
        tar.add(record, record.name)
        for info in extra:
            tar.addfile(info, io.BytesIO(bytes(info.size)))
    return target


def headers(*infos: tarfile.TarInfo) -> bytes:
    """Tar headers without any data behind them."""
    return b"".join(info.tobuf(tarfile.GNU_FORMAT) for info in infos)


def gzipped(data: bytes) -> bytes:
    return gzip.compress(data, 1)
