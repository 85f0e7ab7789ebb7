"""Archives that were cut, flipped or crafted: found, the file named, and nothing written."""

import gzip
import io
import os
import random
import shutil
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import runcard
from archives.records import archives, judged, make_run, state
from runcard.errors import StoreError
from runcard.files import json_name
from runcard.operations.archives.archive import archive
from runcard.operations.archives.extract import extract
from runcard.operations.archives.restore import restore
from runcard.store.archives import scan


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive in its store; tests that change it put it back."""
    store = tmp_path_factory.mktemp("damage") / "outputs"
    archive(make_run(store))
    (found,) = archives(store)
    return found


@pytest.fixture
def damaged(packed: Path) -> Iterator[Callable[[bytes], Path]]:
    good = packed.read_bytes()

    def put(data: bytes) -> Path:
        packed.write_bytes(data)
        return packed

    yield put
    packed.write_bytes(good)


def listed(packed: Path) -> set[str]:
    with tarfile.open(packed) as tar:
        return {member.name.partition("/")[2] for member in tar if not member.isdir()}


@pytest.mark.parametrize("share", [10, pytest.param(1, marks=pytest.mark.long)])
def test_one_flipped_bit_anywhere_is_found_and_a_file_is_named(
    packed: Path, damaged: Callable[[bytes], Path], share: int
) -> None:
    good, names, chance = packed.read_bytes(), listed(packed), random.Random(7)  # noqa: S311 - to be repeatable
    assert judged(packed)["findings"] == []
    places = [*range(40), len(good) - 1, *(chance.randrange(len(good)) for _ in range(60))]
    for place in places[::share]:
        data = bytearray(good)
        data[place] ^= 1 << chance.randrange(8)
        damaged(bytes(data))
        verdict = judged(packed)
        assert not (verdict["intact"] and verdict["complete"]), place
        named = {found["path"] for found in verdict["findings"]}
        assert packed.name in named, place  # the digest of the archive tells in any case
        assert named <= {packed.name, *map(shown, names), ""}, (place, named)


def shown(name: str) -> str:
    return json_name(name).text


def test_damage_in_one_place_names_the_files_there_and_no_others(
    packed: Path, damaged: Callable[[bytes], Path]
) -> None:
    """Members after a damaged one are found again, so that the rest of the record is still checked."""
    data = bytearray(packed.read_bytes())
    data[len(data) // 2] ^= 255  # which is in the middle of the large file
    damaged(bytes(data))
    assert {found["path"] for found in judged(packed)["findings"]} == {packed.name, "large.bin"}
    assert (len(list(extract(packed, ["z", "a.txt"], packed.parent / "out")))) == 2
    with pytest.raises(StoreError, match=r"large\.bin"):
        list(extract(packed, ["large.bin"], packed.parent / "out"))
    assert sorted(path.name for path in (packed.parent / "out").iterdir()) == ["a.txt", "z"]


def test_in_a_small_archive_too_a_file_of_the_record_is_named(here: Path) -> None:
    """All of it is in one member: what can be saved of that is compared file by file."""
    with runcard.record(here / "outputs", model="m", provider="p", strict=True) as run:
        for number in range(40):
            (run.path / f"{number}.txt").write_text(f"text number {number}: {number * 37 % 101}\n" * 20)
    archive(run.path)
    (small,) = archives(here / "outputs")
    good, chance, unharmed = small.read_bytes(), random.Random(9), dict(scan.scan(str(small)).entries)  # noqa: S311
    for _ in range(25):
        data = bytearray(good)
        place = chance.randrange(40, len(good) - 8)  # between the header and the trailer
        data[place] ^= 1 << chance.randrange(8)
        small.write_bytes(data)
        named = {
            found["path"] for found in judged(small)["findings"] if found["kind"] in {"changed", "missing"}
        }
        assert small.name in named
        # Some bits of a compressed stream mean nothing: then every file is still what it was.
        assert named - {small.name} or dict(scan.scan(str(small)).entries) == unharmed, place


def test_a_flipped_bit_without_an_index_names_the_file(packed: Path, here: Path) -> None:
    data = bytearray(packed.read_bytes())
    data[len(data) // 2] ^= 1
    (here / "x.tar.gz").write_bytes(data)
    assert "large.bin" in {found["path"] for found in judged(here / "x.tar.gz")["findings"]}
    with pytest.raises(StoreError, match="is refused"):
        restore(here / "x.tar.gz", to=here / "there")
    assert not (here / "there").exists()


def test_a_cut_archive_is_found_wherever_it_was_cut(packed: Path, damaged: Callable[[bytes], Path]) -> None:
    good, chance = packed.read_bytes(), random.Random(8)  # noqa: S311
    for length in [0, 1, 35, 36, len(good) - 1, *(chance.randrange(len(good)) for _ in range(15))]:
        damaged(good[:length])
        verdict = judged(packed)
        assert not (verdict["intact"] and verdict["complete"]), length
        with pytest.raises(StoreError):
            restore(packed)
    damaged(good[: len(good) // 2])
    missing = {found["path"] for found in judged(packed)["findings"] if found["kind"] == "missing"}
    assert {"large.bin", "z", "tool.sh"} <= missing


# Crafted archives

Craft = Callable[[tarfile.TarFile], None]


@pytest.mark.parametrize("size", [0, 100, None])
def test_a_damaged_archive_counts_once(
    packed: Path, damaged: Callable[[bytes], Path], size: int | None
) -> None:
    """Also if it has lost the document that says which record it is."""
    damaged(b"hello" if size is None else packed.read_bytes()[:size])
    tally = judged(packed.parents[2])["tally"]
    assert {word: count for word, count in tally.items() if count} == {"changed": 1}


def test_the_archive_of_another_record_does_not_stand_for_the_one_that_is_gone(here: Path) -> None:
    with runcard.record(here / "outputs", strict=True) as other:
        pass
    runs = [make_run(here / "outputs"), other.path]
    for run in runs:
        shutil.copytree(run, here / run.name, symlinks=True)
        archive(run)
    first = next(path for path in archives(here / "outputs") if path.name == f"{runs[0].name}.tar.gz")
    with tarfile.open(first, "w:gz", format=tarfile.PAX_FORMAT) as tar:
        tar.add(here / runs[1].name, runs[0].name)
    tally = judged(here / "outputs")["tally"]
    assert {word: count for word, count in tally.items() if count} == {"good": 1, "changed": 1, "removed": 1}


def crafted(record: Path, target: Path, craft: Craft) -> Path:
    """The archive of a good record, which is called RECORD, with something more in it."""
    with tarfile.open(target, "w:gz") as tar:
        tar.add(record, "RECORD")
        craft(tar)
    return target


def member(name: str, kind: bytes = tarfile.REGTYPE, **facts: Any) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    for key, value in facts.items():
        setattr(info, key, value)
    return info


def file_at(name: str) -> Craft:
    return lambda tar: tar.addfile(member(name, size=4), io.BytesIO(b"evil"))


def raw(tar: tarfile.TarFile, info: tarfile.TarInfo) -> None:
    """A header as it is, without what tarfile would do about it."""
    assert tar.fileobj is not None
    tar.fileobj.write(info.tobuf(tarfile.GNU_FORMAT))
    tar.offset += tarfile.BLOCKSIZE


def through(tar: tarfile.TarFile) -> None:
    tar.addfile(member("RECORD/through", tarfile.SYMTYPE, linkname=".."))
    file_at("RECORD/through/evil")(tar)


HOSTILE: dict[str, Craft] = {
    "absolute": file_at("/tmp/runcard-evil"),  # noqa: S108 - what an attacker would do
    "upwards": file_at("../evil"),
    "upwards inside": file_at("RECORD/../../evil"),
    "other folder": file_at("elsewhere/evil"),
    "in the place of the record": file_at("RECORD"),
    "unlisted file": file_at("RECORD/evil"),
    "a name twice": file_at("RECORD/z"),
    "a link that leads out": lambda tar: tar.addfile(
        member("RECORD/evil", tarfile.SYMTYPE, linkname="/etc/passwd")
    ),
    "a link to write through": through,
    "hard link": lambda tar: tar.addfile(member("RECORD/evil", tarfile.LNKTYPE, linkname="RECORD/z")),
    "device": lambda tar: tar.addfile(member("RECORD/evil", tarfile.CHRTYPE, devmajor=1, devminor=3)),
    "fifo": lambda tar: tar.addfile(member("RECORD/evil", tarfile.FIFOTYPE)),
    "directory in the place of a file": lambda tar: tar.addfile(member("RECORD/z", tarfile.DIRTYPE)),
    "huge size": lambda tar: tar.addfile(member("RECORD/evil", size=1 << 62)),
    "huge header": lambda tar: raw(tar, member("RECORD/evil", b"L", size=1 << 40)),
    "sparse": lambda tar: tar.addfile(member("RECORD/evil", pax_headers={"GNU.sparse.major": "1"})),
    "NUL in a name": lambda tar: tar.addfile(member("RECORD/e", pax_headers={"path": "RECORD/e\0vil"})),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused_and_nothing_is_written(run: Path, here: Path, name: str) -> None:
    bad = crafted(run, here / "bad.tar.gz", HOSTILE[name])
    before = state(here)
    verdict = judged(bad)
    assert not (verdict["intact"] and verdict["complete"])
    for force in (False, True):
        if name != "unlisted file" or not force:
            with pytest.raises(StoreError):
                restore(bad, to=here / "there", force=force)
    assert state(here) == before
    assert not os.path.exists("/tmp/runcard-evil")  # noqa: S108


def test_a_bomb_is_refused_before_it_is_read(run: Path, here: Path) -> None:
    """A small file that says it holds 200 GB, and really holds more than its header says."""
    header = member(f"{run.name}/bomb", size=200 << 30).tobuf(tarfile.GNU_FORMAT)
    worker = zlib.compressobj(9, zlib.DEFLATED, 31)
    data = (
        worker.compress(header)
        + b"".join(worker.compress(bytes(1 << 20)) for _ in range(50))
        + worker.flush()
    )
    (here / "bomb.tar.gz").write_bytes(data)
    assert len(data) < 1 << 17
    with pytest.raises(StoreError, match="more than 107,374,182,400 bytes"):
        restore(here / "bomb.tar.gz", to=here / "there")


def test_too_many_members_are_refused(run: Path, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "MOST_MEMBERS", 2_000)
    entries = (member(f"{run.name}/{number}").tobuf(tarfile.GNU_FORMAT) for number in range(3_000))
    (here / "many.tar.gz").write_bytes(gzip.compress(b"".join(entries), 1))
    with pytest.raises(StoreError, match="more than 2,000 entries"):
        restore(here / "many.tar.gz", to=here / "there")
    one = member(f"{run.name}/empty").tobuf(tarfile.GNU_FORMAT)
    (here / "same.tar.gz").write_bytes(gzip.compress(one * 3_000, 1))
    with pytest.raises(StoreError, match="more than 1,000 of its entries are hostile"):
        restore(here / "same.tar.gz", to=here / "there")


def test_what_is_no_archive_is_told(here: Path) -> None:
    for data in (b"", b"no gzip at all", gzip.compress(b"no tar"), gzip.compress(bytes(2048))):
        (here / "x.tar.gz").write_bytes(data)
        assert not judged(here / "x.tar.gz")["complete"]
