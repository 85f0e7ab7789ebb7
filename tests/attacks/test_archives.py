"""Archives made to hang, to fill the memory, or to lead a command out of the record."""

import gzip
import os
import random
import shutil
import struct
import sys
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import runcard as library
from attacks.archive_parts import MEMORY, foreign_archive, gzipped, headers, link, member
from attacks.command_server import runcard

NAME = "2026-11-15_101500"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a record, `plain.tar.gz` that tar made of it, and `ours.tar.gz` that runcard made."""
    folder = tmp_path_factory.mktemp("made")
    program = (
        'yes hello | head -c 6000000 > $RUNCARD_RUN_DIR/hello; echo hi > "$RUNCARD_RUN_DIR/a.txt"; echo hi'
    )
    done = runcard(folder, "run", "--quiet", "--", "sh", "-c", program)
    assert done.returncode == 0, done.stderr
    [run] = (path for path in (folder / "outputs").iterdir() if path.name != ".runcard")
    shutil.copytree(run, folder / NAME)
    foreign_archive(folder / NAME, folder / "plain.tar.gz")
    assert runcard(folder, "archive", run).returncode == 0
    [ours] = (folder / "outputs/archive").glob("*/*.tar.gz")
    shutil.copy(ours, folder / "ours.tar.gz")
    return folder


COMMANDS = {
    "verify": ("verify", "x.tar.gz"),
    "restore": ("restore", "x.tar.gz", "--to", "there"),
    "extract": ("extract", "x.tar.gz", "no-such-file", "--output", "out"),
    "extract all": ("extract", "x.tar.gz", "hello", "--output", "out"),
    "show": ("show", "x.tar.gz"),
    "log": ("log", "x.tar.gz"),
    "import-bundle": ("import-bundle", "x.tar.gz", "there"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("maker", ["plain", "ours"])
def test_an_archive_followed_by_itself_ends_every_command(
    made: Path, tmp_path: Path, maker: str, command: str
) -> None:
    data = (made / f"{maker}.tar.gz").read_bytes()
    (tmp_path / "x.tar.gz").write_bytes(data + data)
    done = runcard(tmp_path, *COMMANDS[command])
    assert "Traceback" not in done.stderr
    if command in {"verify", "restore", "import-bundle"}:
        assert done.returncode == 1
        report = done.stdout if command == "verify" else done.stderr
        assert report.startswith("Error: ")
    assert not (tmp_path / "there").exists()


AFTER_THE_END: dict[str, Callable[[bytes], bytes]] = {
    "garbage": lambda data: data + b"garbage" * 100,
    "another archive": lambda data: data + gzipped(headers(member(f"{NAME}/more")) + bytes(1024)),
    "the header of a member": lambda data: data + data[:10],
}


def zeros_member(size: int) -> bytes:
    """A gzip member of zeros; a gibibyte takes one megabyte."""
    worker = zlib.compressobj(9, zlib.DEFLATED, 31)
    parts = [worker.compress(bytes(1 << 20)) for _ in range(size >> 20)]
    return b"".join([*parts, worker.flush()])


@pytest.mark.parametrize("what", AFTER_THE_END)
def test_data_after_the_end_are_a_finding(made: Path, tmp_path: Path, what: str) -> None:
    (tmp_path / "x.tar.gz").write_bytes(AFTER_THE_END[what]((made / "plain.tar.gz").read_bytes()))
    verified = runcard(tmp_path, "verify", "x.tar.gz")
    assert verified.returncode == 1
    assert "after the end of the archive" in verified.stderr + verified.stdout
    assert runcard(tmp_path, "restore", "x.tar.gz", "--to", "there").returncode == 1
    assert not (tmp_path / "there").exists()


@pytest.mark.long
def test_zeros_after_the_end_are_not_all_read(made: Path, tmp_path: Path) -> None:
    """64 GiB of zeros in 64 MB: reading them would take minutes."""
    (tmp_path / "x.tar.gz").write_bytes((made / "plain.tar.gz").read_bytes() + zeros_member(1 << 30) * 64)
    done = runcard(tmp_path, "verify", "x.tar.gz")
    assert done.returncode == 1
    assert "after the end of the archive" in done.stdout


def our_member(data: bytes, start: int, *, length: int | None = None, size: int | None = None) -> bytes:
    """A gzip member as runcard writes them, perhaps with a header that lies."""
    worker = zlib.compressobj(1, zlib.DEFLATED, -15)
    body = worker.compress(data) + worker.flush() + struct.pack("<II", zlib.crc32(data), len(data))
    stated = 36 + len(body) if length is None else length
    begin = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff" + struct.pack("<H2sH", 24, b"RC", 20)
    return begin + struct.pack("<IIQI", stated, len(data) if size is None else size, start, 0) + body


LYING: dict[str, bytes] = {
    "members that overlap": our_member(b"x", 0, length=8 << 20),
    "members that hold nothing": our_member(b"", 0),
    "headers that cannot be": our_member(b"x", 0, size=1 << 31),
    "empty members of gzip": gzip.compress(b""),
    "one byte in each member": gzip.compress(b"A"),
}


@pytest.mark.parametrize("what", LYING)
def test_members_that_lie_do_not_keep_a_command_busy(tmp_path: Path, what: str) -> None:
    (tmp_path / "x.tar.gz").write_bytes(LYING[what] * 100_000 + bytes(9 << 20))
    done = runcard(tmp_path, "verify", "x.tar.gz", memory=MEMORY)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def number(value: int) -> bytes:
    """A number in the binary form of GNU tar."""
    return (value & (1 << 96) - 1).to_bytes(12, "big") if value < 0 else (value | 1 << 95).to_bytes(12, "big")


def with_field(info: tarfile.TarInfo, at: int, field: bytes) -> bytes:
    """A header in which one field was replaced, and the checksum is right again."""
    raw = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    raw[at : at + len(field)] = field
    raw[148:156] = b" " * 8
    raw[148:156] = b"%06o\0 " % sum(raw)
    return bytes(raw)


def pax(records: bytes) -> bytes:
    """An extended header as POSIX has it."""
    info = member("pax", tarfile.XHDTYPE, size=len(records))
    return headers(info) + records + bytes(-len(records) % 512)


def path_record(path: str) -> bytes:
    """A record of an extended header that names the next file."""
    text = f" path={path}\n".encode()
    length = len(text) + 1
    while len(str(length)) + len(text) > length:
        length += 1
    return str(length).encode() + text


HEADERS: dict[str, bytes] = {
    "a negative size": with_field(member(f"{NAME}/x"), 124, number(-512)),
    "a huge binary size": with_field(member(f"{NAME}/x"), 124, number(1 << 94)),
    "an octal size below zero": with_field(member(f"{NAME}/x"), 124, b"-0000000777\0"),
    "a time beyond all times": with_field(member(f"{NAME}/x"), 136, number(1 << 90)),
    "a time long before": with_field(member(f"{NAME}/x"), 136, number(-(1 << 90))),
    "a record of pax of length 0": pax(b"0 path=x\n"),
    "a record of pax that is too long": pax(b"9999 path=x\n"),
    "a size of pax with 30 digits": pax(b"39 size=" + b"9" * 30 + b"\n") + headers(member(f"{NAME}/x")),
    "a link target with NUL": pax(b"20 linkpath=a\0bcdef\n") + headers(link(f"{NAME}/x", "y")),
    "a link without target": headers(link(f"{NAME}/x", "")),
    "a name of 490,000 levels": pax(path_record(f"{NAME}{'/a' * 490_000}")) + headers(member("x")),
    "nine long names before one file": pax(b"10 path=x\n") * 9 + headers(member(f"{NAME}/x")),
}


@pytest.mark.parametrize("what", HEADERS)
def test_headers_that_lie_are_refused(made: Path, tmp_path: Path, what: str) -> None:
    plain = gzip.decompress((made / "plain.tar.gz").read_bytes()).rstrip(b"\0")
    whole = plain + bytes(-len(plain) % 512)
    (tmp_path / "x.tar.gz").write_bytes(gzipped(whole + HEADERS[what] + bytes(1024)))
    for command in ("verify", "restore", "extract", "import-bundle"):
        done = runcard(tmp_path, *COMMANDS[command], memory=MEMORY)
        assert done.returncode == 1, command
        report = done.stdout if command == "verify" else done.stderr
        assert report.startswith("Error: "), command
        assert "Traceback" not in done.stderr, command
    assert os.listdir(tmp_path) == ["x.tar.gz"]


@pytest.mark.long
def test_few_long_names_do_not_stand_for_folders_without_number(tmp_path: Path) -> None:
    """Each name of a megabyte needs half a million folders that the archive does not list."""
    deep = [pax(path_record(f"{NAME}/{n}{'/a' * 490_000}")) for n in range(40)]
    data = b"".join(record + headers(member("x")) for record in deep)
    (tmp_path / "x.tar.gz").write_bytes(gzipped(data + bytes(1024)))
    assert runcard(tmp_path, "verify", "x.tar.gz", memory=2 * MEMORY).returncode == 1


@pytest.mark.long
def test_a_hundred_thousand_tiny_members_are_read_in_seconds(made: Path, tmp_path: Path) -> None:
    infos = (member(f"{NAME}/tiny/{n}") for n in range(100_000))
    foreign_archive(made / NAME, tmp_path / "x.tar.gz", infos)
    done = runcard(tmp_path, "verify", "x.tar.gz", memory=MEMORY)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def damaged(data: bytes, chance: random.Random) -> Iterator[bytes]:
    """The same archive cut, doubled, mixed up and overwritten in many places."""
    for _ in range(12):
        at, length = chance.randrange(len(data)), chance.randrange(1, 4000)
        yield data[:at]
        yield data[:at] + data[at + length :]
        yield data[:at] + data[max(at - length, 0) :]
        yield data[:at] + chance.randbytes(length) + data[at + length :]
        yield data[:at] + data + data[at:]
        yield data[:at] + bytes(length) + data[at:]


@pytest.mark.parametrize("maker", ["plain", "ours"])
def test_a_damaged_archive_never_hangs_and_never_passes(made: Path, tmp_path: Path, maker: str) -> None:
    data = (made / f"{maker}.tar.gz").read_bytes()
    paths = []
    for count, variant in enumerate(damaged(data, random.Random(3))):  # noqa: S311 - to be repeatable
        if variant != data:
            paths.append(f"{count}.tar.gz")
            (tmp_path / paths[-1]).write_bytes(variant)
    done = runcard(tmp_path, "verify", *paths, memory=MEMORY)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert [path for path in paths if f"{path}: intact" in done.stdout] == []


# Links


def with_links(folder: Path, links: dict[str, str], files: dict[str, str] | None = None) -> Path:
    """An archive of a genuine run that has these links, as a stranger sends it."""
    program = "import os, sys\ntop = os.environ['RUNCARD_RUN_DIR']\n"
    program += "".join(f"os.makedirs(os.path.dirname(f'{{top}}/{path}'), exist_ok=True)\n" for path in links)
    program += "".join(f"os.symlink({target!r}, f'{{top}}/{path}')\n" for path, target in links.items())
    program += "".join(
        f"open(f'{{top}}/{path}', 'w').write({text!r})\n" for path, text in (files or {}).items()
    )
    made = runcard(folder, "run", "--quiet", "--outputs", "theirs", "--", sys.executable, "-c", program)
    assert made.returncode == 0, made.stderr
    [run] = (path for path in (folder / "theirs").iterdir() if not path.name.startswith("."))
    archive = foreign_archive(run, folder / "x.tar.gz")
    shutil.rmtree(folder / "theirs")
    return archive


LEADING_OUT = {
    "through another link": {"a": "b", "b": "../../etc"},
    "through a link to the folder itself": {"d": ".", "x": "d/d/../.."},
    "upwards after a link to a folder below": {"d/up": "..", "x": "d/up/.."},
    "absolute through another link": {"a": "sub/b", "sub/b": "/etc"},
    "through a name in other case": {"D": ".", "x": "d/.."},
    "through forty links": {**{f"l{n}": f"l{n + 1}" for n in range(30)}, "l30": "../../.."},
}


@pytest.mark.parametrize("what", LEADING_OUT)
def test_a_link_is_judged_by_where_it_leads(tmp_path: Path, what: str) -> None:
    with_links(tmp_path, LEADING_OUT[what])
    done = runcard(tmp_path, "restore", "x.tar.gz", "--to", "there")
    assert done.returncode == 1
    assert "leads out of the record" in done.stderr
    extracted = runcard(tmp_path, "extract", "x.tar.gz", *LEADING_OUT[what], "--output", "out")
    assert extracted.returncode == 1
    assert "leads out of the record" in extracted.stderr
    assert not (tmp_path / "there").exists()
    assert not any(path.is_symlink() for path in (tmp_path / "out").rglob("*"))


def test_links_that_stay_inside_are_restored(tmp_path: Path) -> None:
    links = {
        "a": "b",
        "b": "sub/c",
        "sub/c": "../README.md",
        "sub/up": "..",
        "e": "sub/up/sub",
        "gone": "nowhere/x",
    }
    with_links(tmp_path, links)
    done = runcard(tmp_path, "restore", "x.tar.gz", "--to", "there")
    assert done.returncode == 0, done.stderr
    record = Path(done.stdout.strip())
    assert {path: os.readlink(record / path) for path in links} == links
    extracted = runcard(tmp_path, "extract", "x.tar.gz", *links, "--output", "out")
    assert extracted.returncode == 0, extracted.stderr
    assert {path: os.readlink(tmp_path / "out" / path) for path in links} == links


def test_extract_writes_through_no_link(tmp_path: Path) -> None:
    """Neither through one that lay there before, nor through one of the same archive."""
    (tmp_path / "victim").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/sub").symlink_to(tmp_path / "victim")
    with_links(tmp_path, {"sub/l": "../README.md"}, {"sub/evil": "evil"})
    done = runcard(tmp_path, "extract", "x.tar.gz", "sub", "--output", "out")
    assert done.returncode == 1
    assert "is a symbolic link" in done.stderr
    assert os.listdir(tmp_path / "victim") == []


def test_extract_makes_no_link_that_leads_out_through_one_that_lay_there(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/b").symlink_to("../..")
    with_links(tmp_path, {"a": "b/c"})
    done = runcard(tmp_path, "extract", "x.tar.gz", "a", "--output", "out")
    assert done.returncode == 1
    assert os.listdir(tmp_path / "out") == ["b"]


def test_a_member_below_a_link_is_refused_before_anything_is_written(made: Path, tmp_path: Path) -> None:
    pair = [link(f"{NAME}/l", ".."), member(f"{NAME}/l/evil")]
    for members in (pair, pair[::-1]):
        foreign_archive(made / NAME, tmp_path / "x.tar.gz", members)
        done = runcard(tmp_path, "restore", "x.tar.gz", "--to", "there", "--force")
        assert done.returncode == 1
        assert "is in the place of a folder" in done.stderr
    assert os.listdir(tmp_path) == ["x.tar.gz"]


def test_a_record_whose_paths_no_archive_may_have_is_left_alone_with_a_reason(here: Path) -> None:
    with library.record(here / "outputs", strict=True) as run:
        place = os.open(run.path, os.O_RDONLY)
        for _ in range(70):
            os.mkdir("d" * 240, dir_fd=place)
            inner = os.open("d" * 240, os.O_RDONLY, dir_fd=place)
            os.close(place)
            place = inner
        os.close(place)
    done = runcard(here, "archive", run.path)
    assert (done.returncode, run.path.exists()) == (1, True)
    assert "a path in the record is longer than 16,384 characters" in done.stderr
    assert list(here.glob("outputs/archive/*/*")) == []
    assert runcard(here, "verify", "outputs").returncode == 0
    assert runcard(here, "rm", run.path, "--yes").returncode == 0
