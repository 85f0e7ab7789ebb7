"""Before a directory goes, its archive is read back from the disk and compared with what was packed."""

import os
from pathlib import Path
from typing import Any

import pytest

from archives.records import archives, events, judged, state
from conftest import Cli
from runcard.errors import StoreError
from runcard.operations.archives.archive import archive
from runcard.store.archives import replace_directory
from runcard.store.archives.pack import Packed, pack


def _flip(descriptor: int, offset: int) -> None:
    """Change one byte behind the back of the packer, as a failing disk does."""
    (byte,) = os.pread(descriptor, 1, offset)
    os.pwrite(descriptor, bytes([byte ^ 1]), offset)


def _other_time(descriptor: int, _: int) -> None:
    """Change what no checksum of gzip or tar covers, and no file of the record shows: the time in a gzip header."""
    _flip(descriptor, 4)


def _cut(descriptor: int, size: int) -> None:
    os.ftruncate(descriptor, size - 100)


@pytest.mark.parametrize(
    "damage", [lambda file, size: _flip(file, size // 2), _other_time, _cut], ids=["byte", "header", "cut"]
)
@pytest.mark.parametrize("force", [False, True])
def test_an_archive_that_is_not_on_disk_as_packed_costs_no_directory(
    run: Path, monkeypatch: pytest.MonkeyPatch, damage: Any, *, force: bool
) -> None:
    def failing_pack(record: str, name: str, descriptor: int, **options: Any) -> Packed:
        packed = pack(record, name, descriptor, **options)
        damage(descriptor, packed.bytes)
        return packed

    monkeypatch.setattr(replace_directory, "pack", failing_pack)
    before = state(run)
    with pytest.raises(StoreError, match="cannot be read back as it was written"):
        archive(run, force=force)
    assert state(run) == before
    assert archives(run.parent) == []
    assert "record.archived" not in events(run.parent)
    assert judged(run.parent)["findings"] == []


def test_the_error_says_that_the_record_is_there(
    cli: Cli, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other_digest(*arguments: Any, **options: Any) -> Packed:
        return pack(*arguments, **options)._replace(tar_sha256="0" * 64)

    monkeypatch.setattr(replace_directory, "pack", other_digest)
    done = cli("archive", run)
    assert (done.code, run.is_dir()) == (1, True)
    assert "cannot be read back as it was written" in done.err
