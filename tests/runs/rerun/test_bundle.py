"""A run goes to somebody else with all that it needs, and nothing that comes in is taken on trust."""

import gzip
import io
import json
import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runcard.errors import RuncardError
from runcard.operations.runs.import_bundle import import_bundle
from runcard.store.archives.bundles.result import MAX_SIZE
from runs.rerun.projects import make_project, record, runcard


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A project and a bundle of its run."""
    project = tmp_path_factory.mktemp("made") / "project"
    make_project(project)
    run = record(project)
    (project / "links").mkdir()
    done = runcard(project, "export", str(run), "--to", "bundle", "--output", "run.tar.gz")
    assert (done.returncode, done.stdout) == (0, "run.tar.gz\n")
    return project, project / "run.tar.gz"


def members(bundle: Path) -> dict[str, bytes]:
    with tarfile.open(bundle) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar if member.isreg()}  # type: ignore[union-attr]


def rewritten(
    bundle: Path,
    target: Path,
    change: Callable[[tarfile.TarInfo, bytes], Iterator[tuple[tarfile.TarInfo, bytes]]],
) -> Path:
    """The bundle with every member handed through `change`."""
    with tarfile.open(bundle) as source, tarfile.open(target, "w:gz", format=tarfile.PAX_FORMAT) as tar:
        for member in source:
            data = source.extractfile(member)
            for new, content in change(member, data.read() if data else b""):
                new.size = len(content)
                tar.addfile(new, io.BytesIO(content))
    return target


def with_member(bundle: Path, target: Path, name: str, **fields: object) -> Path:
    """The bundle with one more member in front."""
    added = tarfile.TarInfo(name)
    for key, value in fields.items():
        setattr(added, key, value)
    first = [added]

    def change(member: tarfile.TarInfo, data: bytes) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
        if first:
            yield first.pop(), b""
        yield member, data

    return rewritten(bundle, target, change)


def test_somebody_else_runs_it_again(made: tuple[Path, Path], tmp_path: Path) -> None:
    _, bundle = made
    done = runcard(tmp_path, "import-bundle", str(bundle), "theirs")
    run = tmp_path / done.stdout.strip()
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in (tmp_path / "theirs").iterdir()) == [
        ".runcard-bundle.json",
        "in",
        "make.py",
        "outputs",
    ]
    assert runcard(tmp_path, "verify", str(run)).returncode == 0
    again = runcard(tmp_path / "theirs", "rerun", "--yes", str(run))
    assert again.returncode == 0, again.stderr
    assert "  same     copy.txt" in again.stdout


def test_plain_tar_opens_it(made: tuple[Path, Path]) -> None:
    _, bundle = made
    names = set(members(bundle))
    top = {name.split("/")[0] for name in names}
    assert len(top) == 1
    assert f"{top.pop()}/in/a.md" in names


def test_the_same_run_gives_the_same_bytes(made: tuple[Path, Path]) -> None:
    project, _ = made
    run = next(path for path in (project / "outputs").iterdir() if path.name != ".runcard")
    for name in ("one.tar.gz", "two.tar.gz"):
        runcard(project, "export", str(run), "--to", "bundle", "--output", name)
    assert (project / "one.tar.gz").read_bytes() == (project / "two.tar.gz").read_bytes()


def test_nothing_is_overwritten(made: tuple[Path, Path], tmp_path: Path) -> None:
    project, bundle = made
    run = next(path for path in (project / "outputs").iterdir() if path.name != ".runcard")
    again = runcard(project, "export", str(run), "--to", "bundle", "--output", "run.tar.gz")
    assert (again.returncode, again.stderr.splitlines()[0]) == (1, "Error: run.tar.gz exists already")
    (tmp_path / "theirs").mkdir()
    refused = runcard(tmp_path, "import-bundle", str(bundle), "theirs")
    assert refused.returncode == 1
    assert refused.stderr.splitlines()[0] == "Error: theirs exists already"
    assert os.listdir(tmp_path) == ["theirs"]
    assert [name for name in os.listdir(project) if name.endswith(".tmp")] == []


def test_a_run_that_changed_is_not_packed(tmp_path: Path) -> None:
    project = tmp_path / "project"
    make_project(project)
    run = record(project)
    (run / "copy.txt").write_text("forged\n")
    forged = runcard(project, "export", str(run), "--to", "bundle")
    assert forged.returncode == 1
    assert "was changed since it was closed" in forged.stderr
    assert [name for name in os.listdir(project) if "tar" in name] == []


@pytest.mark.parametrize(
    ("change", "reason"), [("changed", "it is not what the run read"), ("gone", "it is missing")]
)
def test_an_input_that_changed_is_left_out_and_told(tmp_path: Path, change: str, reason: str) -> None:
    project = tmp_path / "project"
    make_project(project)
    run = record(project)
    if change == "changed":
        (project / "in" / "a.md").write_text("other\n")
    else:
        (project / "in" / "a.md").unlink()
    done = runcard(project, "export", str(run), "--to", "bundle", "--output", "b.tar.gz")
    assert (done.returncode, done.stdout) == (2, "b.tar.gz\n")
    assert done.stderr == f"Warning: the input in/a.md was left out: {reason}\n"
    assert not any(name.endswith("in/a.md") for name in members(project / "b.tar.gz"))
    opened = runcard(tmp_path, "import-bundle", "project/b.tar.gz", "theirs")
    assert opened.returncode == 2
    assert opened.stderr == "Warning: the input in/a.md is not in the bundle\n"


def test_an_input_from_elsewhere_is_packed_when_it_is_named(tmp_path: Path) -> None:
    make_project(tmp_path / "project")
    (tmp_path / "elsewhere.md").write_text("far\n")
    run = record(tmp_path / "project", "--input", str(tmp_path / "elsewhere.md"))
    export = ("export", str(run), "--to", "bundle", "--output")
    without = runcard(tmp_path / "project", *export, "a.tar.gz")
    assert without.returncode == 2
    assert "elsewhere.md was left out: it is outside of the current directory" in without.stderr
    assert runcard(tmp_path / "project", *export, "b.tar.gz", "--with", "../elsewhere.md").returncode == 0
    done = runcard(tmp_path, "import-bundle", "project/b.tar.gz", "theirs")
    assert done.returncode == 2
    assert done.stderr.startswith(f"Warning: the run read {tmp_path}/elsewhere.md, which is now in ")
    assert (tmp_path / f"theirs/inputs-outside{tmp_path}/elsewhere.md").read_text() == "far\n"


def test_permissions_are_those_of_new_files(made: tuple[Path, Path], tmp_path: Path) -> None:
    def change(member: tarfile.TarInfo, data: bytes) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
        member.mode = 0o4777 if member.name.endswith("make.py") else 0o000
        yield member, data

    bundle = rewritten(made[1], tmp_path / "b.tar.gz", change)
    before = os.umask(0o077)
    try:
        import_bundle(bundle, str(tmp_path / "theirs"))
    finally:
        os.umask(before)
    modes = {
        name: (tmp_path / "theirs" / name).stat().st_mode & 0o7777 for name in ("make.py", "in/a.md", "in")
    }
    assert modes == {"make.py": 0o700, "in/a.md": 0o600, "in": 0o700}


@pytest.mark.parametrize(
    "part", ["in/a.md", "make.py", "copy.txt", "metadata.json", "experiment.jsonl", ".runcard-bundle.json"]
)
def test_a_changed_file_is_refused(made: tuple[Path, Path], tmp_path: Path, part: str) -> None:
    def change(member: tarfile.TarInfo, data: bytes) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
        yield member, data.replace(b"e", b"a", 1) if member.name.endswith(part) else data

    bundle = rewritten(made[1], tmp_path / "b.tar.gz", change)
    assert_refused(bundle, tmp_path)


@pytest.mark.parametrize(
    "part", ["in/a.md", "make.py", "copy.txt", "metadata.json", "SHA256SUMS", ".runcard-bundle.json"]
)
def test_a_missing_file_is_refused(made: tuple[Path, Path], tmp_path: Path, part: str) -> None:
    def change(member: tarfile.TarInfo, data: bytes) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
        if not member.name.endswith(part):
            yield member, data

    assert_refused(rewritten(made[1], tmp_path / "b.tar.gz", change), tmp_path)


def assert_refused(bundle: Path, folder: Path, max_size: int = MAX_SIZE) -> str:
    before = sorted(os.listdir(folder))
    with pytest.raises(RuncardError) as caught:
        import_bundle(bundle, str(folder / "theirs"), max_size=max_size)
    assert sorted(os.listdir(folder)) == before
    return f"{caught.value.message}; {caught.value.hint}"


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("../out", {}),
        ("/etc/out", {}),
        ("top/../../out", {}),
        ("top/a//b", {}),
        ("top/more.txt", {}),
        ("top/device", {"type": tarfile.CHRTYPE}),
        ("top/fifo", {"type": tarfile.FIFOTYPE}),
        ("top/hard", {"type": tarfile.LNKTYPE, "linkname": "/etc/passwd"}),
        ("top/link", {"type": tarfile.SYMTYPE, "linkname": "/etc"}),
        ("top/outputs/x/link", {"type": tarfile.SYMTYPE, "linkname": "../../../.."}),
        ("top/in/a.md", {}),
        ("top/in", {"type": tarfile.SYMTYPE, "linkname": "outputs"}),
        ("top/sparse", {"type": tarfile.GNUTYPE_SPARSE}),
    ],
)
def test_what_leads_out_or_is_no_file_is_refused(
    made: tuple[Path, Path], tmp_path: Path, name: str, fields: dict[str, object]
) -> None:
    assert_refused(with_member(made[1], tmp_path / "b.tar.gz", name, **fields), tmp_path)
    assert not (tmp_path.parent / "out").exists()


def test_more_than_is_allowed_is_refused_before_it_is_written(
    made: tuple[Path, Path], tmp_path: Path
) -> None:
    assert "--max-size" in assert_refused(made[1], tmp_path, max_size=100)


def test_a_header_that_claims_to_be_enormous_does_not_fill_the_memory(tmp_path: Path) -> None:
    header = tarfile.TarInfo("top/x")
    header.type, header.size = tarfile.XHDTYPE, (1 << 33) - 1
    with gzip.open(tmp_path / "b.tar.gz", "wb") as file:
        file.write(header.tobuf(tarfile.USTAR_FORMAT) + b"\0" * 10_000)
    assert "enormous" in assert_refused(tmp_path / "b.tar.gz", tmp_path)


@pytest.mark.parametrize(
    "data",
    [b"", b"no tar", gzip.compress(b"no tar"), gzip.compress(b"\0" * 10240)],
    ids=["nothing", "text", "no tar inside", "nothing inside"],
)
def test_what_is_no_bundle_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "b.tar.gz").write_bytes(data)
    assert_refused(tmp_path / "b.tar.gz", tmp_path)


def test_a_bundle_that_was_cut_is_refused(made: tuple[Path, Path], tmp_path: Path) -> None:
    data = made[1].read_bytes()
    (tmp_path / "b.tar.gz").write_bytes(data[: len(data) // 2])
    assert_refused(tmp_path / "b.tar.gz", tmp_path)


def test_a_later_major_version_is_refused(made: tuple[Path, Path], tmp_path: Path) -> None:
    def change(member: tarfile.TarInfo, data: bytes) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
        if member.name.endswith(".runcard-bundle.json"):
            data = json.dumps(json.loads(data) | {"bundle_version": "2.0"}).encode()
        yield member, data

    assert "newer runcard" in assert_refused(rewritten(made[1], tmp_path / "b.tar.gz", change), tmp_path)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    assert "nowhere.tar.gz" in assert_refused(tmp_path / "nowhere.tar.gz", tmp_path)


def test_a_program_that_was_left_out_is_told_by_both_ends(tmp_path: Path) -> None:
    project = tmp_path / "project"
    make_project(project)
    (project / "kept").mkdir()
    record(project).rename(project / "kept" / "run")  # nothing shows any more that this user recorded it here
    packed = runcard(project, "export", "kept/run", "-o", "b.tar.gz")
    assert (packed.returncode, packed.stdout) == (2, "b.tar.gz\n")
    assert "Warning: the program make.py was left out" in packed.stderr
    opened = runcard(tmp_path, "import-bundle", "project/b.tar.gz", "theirs")
    assert opened.returncode == 2
    assert "Warning: the program make.py is not in the bundle\n" in opened.stderr
