"""Archives and bundles as an attacker would make them."""

import gzip
import io
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

MEMORY = 2 << 30  # bytes of address space that a command may use

Craft = Callable[[tarfile.TarFile], None]


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
