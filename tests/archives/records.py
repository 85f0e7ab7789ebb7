"""Records to archive, and the questions that every store must stand."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import runcard
from runcard.operations.checks.verify import summary, verify
from sessions.collecting.teams import lay_out
from whole_ledgers import entries, ledgers

Fields = dict[str, Any]


def make_run(store: Path) -> Path:
    """A run with files of many kinds: small, large, empty, executable, with odd names and a link."""
    with runcard.record(store, model="m", provider="p", strict=True) as run:
        for name, text in (
            ("a.txt", "first\n"),
            ("sub/b.txt", "second\n" * 900),
            ("sub.txt", ""),
            ("z", "z"),
        ):
            path = run.path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        (run.path / "large.bin").write_bytes(os.urandom(3 << 20))
        (run.path / "tool.sh").write_text("#!/bin/sh\n")
        (run.path / "tool.sh").chmod(0o755)
        os.utime(run.path / "a.txt", (1_000_000_000, 1_000_000_000))
        odd = os.fsencode(run.path) + b"/odd \xff\\ \n" + b"n" * 150
        with open(odd, "wb") as file:
            file.write(b"odd")
        deep = run.path / ("d" * 90) / ("e" * 90)
        deep.mkdir(parents=True)
        (deep / ("f" * 90)).write_text("deep")
        (run.path / "latest").symlink_to("sub/b.txt")
        (run.path / "empty").mkdir()
    return Path(run.path)


def make_session(folder: Path) -> Path:
    (folder / "team").mkdir(parents=True)
    return Path(runcard.collect(lay_out(folder / "team"), artifacts=folder / "artifacts").path)


def state(record: Path) -> Fields:
    """All that can be seen of a record: names, bytes, permissions, times in whole seconds."""
    found: Fields = {}
    for folder, folders, files in os.walk(os.fsencode(record)):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            status = os.lstat(path)
            data: Any = None
            if os.path.islink(path):
                found[repr(os.path.relpath(path, os.fsencode(record)))] = (
                    int(status.st_mtime),
                    os.readlink(path),
                )
                continue
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    data = file.read()
            found[repr(os.path.relpath(path, os.fsencode(record)))] = (
                status.st_mode,
                int(status.st_mtime),
                data,
            )
    return found


def judged(*paths: Path | str) -> Fields:
    """The verdict of `verify`, as data."""
    return summary(list(verify(*paths)))


def index(store: Path) -> Fields:
    data: Fields = json.loads((store / "archive" / "archive_index.json").read_bytes())
    return data


def archives(store: Path) -> list[Path]:
    return sorted((store / "archive").glob("*/*.tar.gz"))


def events(store: Path) -> list[str]:
    return [entry.event for _, journal, _ in ledgers(str(store)) for entry in entries(journal)]


def unpacked(archive: Path, folder: Path) -> Path:
    """What plain `tar` makes of an archive."""
    folder.mkdir()
    subprocess.run(["tar", "xzf", archive, "-C", folder], check=True)
    (found,) = folder.iterdir()
    return found
