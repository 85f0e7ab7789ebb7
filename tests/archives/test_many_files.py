"""What is read of an archive is the same whether its names and documents are in memory or in a temporary file."""

import os
import tarfile
import tempfile
from pathlib import Path

import pytest

from archives.records import archives, state
from runcard.files import path_table, unnamed_file
from runcard.operations.archives.archive import archive
from runcard.operations.archives.restore import restore
from runcard.operations.checks.verify import verify
from runcard.store.archives import archived_documents
from runcard.store.archives.archived_documents import ArchivedDocuments
from runcard.store.archives.scan import scan


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_table, "MEMORY", 600)
    monkeypatch.setattr(archived_documents, "_LARGE", 8)


@pytest.fixture(params=["as packed", "in another order"])
def archived(run: Path, request: pytest.FixtureRequest) -> Path:
    archive(run)
    (path,) = archives(run.parent)
    if request.param == "in another order":
        with tarfile.open(path) as tar:
            members = [(member, tar.extractfile(member)) for member in tar.getmembers()]
            with tarfile.open(run.parent / "turned.tar.gz", "w:gz") as other:
                for member, file in reversed(members):
                    other.addfile(member, file)
        path = run.parent / "turned.tar.gz"
    return path


def test_an_archive_is_scanned_the_same_with_little_memory(
    archived: Path, request: pytest.FixtureRequest
) -> None:
    expected = scan(str(archived))
    request.getfixturevalue("little_memory")
    contents = scan(str(archived))
    assert list(contents.entries) == list(expected.entries)
    assert not contents.problems
    for facts in (contents, expected):
        assert facts.files == sum(len(entry) == 64 for _, entry in facts.entries)
    assert {path: contents.read(path) for path in contents.documents} == {
        path: expected.read(path) for path in expected.documents
    }


def test_a_record_comes_back_the_same_with_little_memory(
    run: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    before = state(run)
    request.getfixturevalue("little_memory")
    packed = archive(run).archive
    assert all(result.verdict.intact for result in verify(packed))
    assert state(Path(restore(packed, to=tmp_path / "there").path)) == before


@pytest.mark.usefixtures("little_memory")
def test_a_large_document_is_read_from_its_file_as_from_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = os.urandom(1000)
    pieces = [data[start : start + 300] for start in range(0, 1000, 300)]
    documents = ArchivedDocuments()
    documents.add("first", 1000, pieces)
    documents.add("second", 1000, reversed(pieces))
    assert documents._end == 2000
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    held = ArchivedDocuments()
    held.add("first", 1000, pieces)
    assert held._descriptor < 0
    for each in (documents, held):
        assert each.get("first") == data
        file = each.open("first")
        assert file is not None
        with file:
            assert (file.read(10), file.tell()) == (data[:10], 10)
            assert (file.seek(-5, os.SEEK_END), file.read(), file.read()) == (995, data[-5:], b"")
            assert (file.seek(0), file.read()) == (0, data)
    assert documents.get("second") == b"".join(reversed(pieces))
    assert (documents.get("none"), documents.open("none")) == (None, None)


@pytest.mark.usefixtures("little_memory")
def test_a_document_that_does_not_fit_on_the_disk_stays_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    write = unnamed_file.write_at

    def full(descriptor: int, data: bytes | memoryview, offset: int) -> None:
        if offset:
            raise OSError(28, "No space left on device")
        write(descriptor, data, offset)

    monkeypatch.setattr(unnamed_file, "write_at", full)
    documents = ArchivedDocuments()
    documents.add("name", 30, [b"one-", b"two-", memoryview(b"three")])
    assert documents.get("name") == b"one-two-three"
