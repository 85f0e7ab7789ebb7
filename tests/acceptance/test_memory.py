"""The memory that runcard needs does not grow with the number of files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FILES, ARCHIVED_FILES = 60_000, 150_000
MOST, MOST_TO_COLLECT = 60, 75  # MiB; with all files in memory, more is needed

pytestmark = pytest.mark.long

PEAK = """
import re, sys
status = open("/proc/self/status").read()
print(int(re.search(r"VmHWM:\\s+(\\d+)", status)[1]) // 1024)
"""
MAKE = """
import os, sys
def make(folder):
    for number in range({files}):
        if number % 1000 == 0:
            os.makedirs(inner := os.path.join(folder, f"{{number // 1000:03}}"))
        os.close(os.open(os.path.join(inner, f"file-{{number:07}}.txt"), os.O_WRONLY | os.O_CREAT))
"""
CLOSE = """
import runcard
with runcard.record(outputs=sys.argv[1]) as run:
    make(os.path.join(run.path, "data"))
"""
COLLECT = """
import runcard
make(sys.argv[1] + "/workspace")
agent = dict(instance_id="a1", name="coder", role="general", model="m", status="completed", tokens_used=1, cost=0.1)
agent |= dict(created_at="2026-01-01T00:00:00Z", terminated_at="2026-01-01T01:00:00Z")
agent |= dict(workspace=sys.argv[1] + "/workspace")
spec = dict(team_session_id="s1", instances=[agent])
assert not runcard.collect(spec, artifacts=sys.argv[1] + "/store").omissions
"""
ARCHIVE = """
import hashlib
from runcard.store.archives import tar
from runcard.store.archives.gzip_members import NO_HEADER, SIZE, MemberWriter
from runcard.store.archives.tar import TarMember

def member(kind, path, data=b""):
    header = tar.header(TarMember(kind, path.encode(), len(data), 0o755, 0, b""))
    return header + data + bytes(tar.padding(len(data)))

def pack(descriptor, files):
    digest = hashlib.sha256(b"").hexdigest()
    names = [f"data/file-{number:07}.txt" for number in range(files)]
    listing = "".join(f"{digest}  {name}\\n" for name in names).encode()
    with MemberWriter(descriptor) as writer:
        data = member(tar.DIRECTORY, "record/") + member(tar.FILE, "record/SHA256SUMS", listing)
        for start in range(0, len(data), SIZE):
            writer.add(data[start : start + SIZE], NO_HEADER if start else 0)
        for start in range(0, files, 1000):
            some = names[start : start + 1000]
            writer.add(b"".join(member(tar.FILE, "record/" + name) for name in some), 0)
        writer.add(tar.END, NO_HEADER)
        writer.finish()

pack(os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), int(sys.argv[2]))
"""
SCAN = """
from runcard.checksums import read_file
from runcard.store.archives.scan import scan
contents = scan(sys.argv[1])
with contents.documents.open("SHA256SUMS") as file:
    listing = read_file(file)
assert contents.files == len(listing) + 1 == int(sys.argv[2]) + 1
assert not contents.problems and not contents.compare(listing).differences
"""
VERIFY = """
import glob, runcard
(path,) = glob.glob(sys.argv[1])
assert all(result.verdict.intact for result in runcard.verify(path))
"""


def peak(script: str, *arguments: str) -> int:
    """The peak memory of a process that runs a script, in MiB."""
    source = MAKE.format(files=FILES) + script + PEAK
    # Measuring its coverage would take memory, too.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    done = subprocess.run(
        [sys.executable, "-c", source, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_many_output_files_of_a_run_need_little_memory(tmp_path: Path) -> None:
    assert peak(CLOSE, str(tmp_path)) <= MOST
    assert peak(VERIFY, f"{tmp_path}/20*") <= MOST


def test_many_files_of_a_session_need_little_memory(tmp_path: Path) -> None:
    assert peak(COLLECT, str(tmp_path)) <= MOST_TO_COLLECT
    assert peak(VERIFY, f"{tmp_path}/store/20*") <= MOST


def test_an_archive_of_many_files_needs_little_memory(tmp_path: Path) -> None:
    arguments = str(tmp_path / "archive.tar.gz"), str(ARCHIVED_FILES)
    peak(ARCHIVE, *arguments)
    assert peak(SCAN, *arguments) <= MOST
