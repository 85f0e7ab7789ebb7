"""Reading one document from disk."""

import io
import os
import socket
import sys
from pathlib import Path

import pytest

from checks import samples
from conftest import Put
from runcard.documents.findings import InvalidDocument
from runcard.encoding import Limits
from runcard.errors import MachineError, StoreError, UsageError
from runcard.operations.checks.load import load, read_document


def test_a_document_knows_its_kind_version_and_bytes(put: Put) -> None:
    path = put("x.json", samples.team())
    document = load(path)
    assert (document.kind.name, document.version, document.to_bytes()) == (
        "team",
        "1.0.0",
        path.read_bytes(),
    )
    assert document.to_dict() == samples.team()


def test_an_invalid_document_raises_with_its_name_and_everything_found(put: Put) -> None:
    path = put("x.json", samples.broken_team())
    with pytest.raises(InvalidDocument) as caught:
        load(path)
    assert caught.value.message.startswith(f"{path} is not valid at /total_instances: ")
    assert caught.value.message.endswith(" (and 2 more)")
    assert [found.rule for found in caught.value.report.errors] == ["schema.type", "schema.enum", "sum.cost"]
    assert caught.value.hint


def test_a_kind_can_be_named(put: Put) -> None:
    with pytest.raises(InvalidDocument) as caught:
        load(put("x.json", samples.team()), kind="instance")
    assert caught.value.report.kind == "instance"


def test_a_kind_that_does_not_exist_is_the_callers_mistake(put: Put) -> None:
    with pytest.raises(UsageError, match="no such kind: teem"):
        load(put("x.json", samples.team()), kind="teem")


def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"nothing\.json does not exist") as caught:
        load(tmp_path / "nothing.json")
    assert isinstance(caught.value.__cause__, FileNotFoundError)
    assert caught.value.hint == "check the path"


def test_a_directory_is_no_document(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a directory") as caught:
        load(tmp_path)
    assert caught.value.hint == "name a file"


def test_a_directory_that_was_refused_is_not_kept_open(tmp_path: Path) -> None:
    before = os.listdir("/dev/fd")
    with pytest.raises(StoreError):
        read_document(str(tmp_path), Limits())
    assert len(os.listdir("/dev/fd")) == len(before)


def test_a_path_through_a_file_is_an_error_that_names_it(put: Put) -> None:
    with pytest.raises(StoreError, match=r"x\.json/y: Not a directory"):
        load(put("x.json", samples.team()) / "y")


def test_a_socket_is_no_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket has little room
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s.json")
        with pytest.raises(StoreError, match=r"s\.json is a socket or a device, not a file"):
            load("s.json")


def test_a_pipe_is_read_to_its_end() -> None:
    reading, writing = os.pipe()
    try:
        os.write(writing, b"first ")
        os.write(writing, b"second")
        os.close(writing)
        assert read_document(f"/dev/fd/{reading}", Limits()) == b"first second"
    finally:
        os.close(reading)


def test_no_more_than_one_byte_beyond_the_limit_is_read(put: Put) -> None:
    path = str(put("x.json", b"123456789"))
    assert read_document(path, Limits(size=9)) == b"123456789"
    assert read_document(path, Limits(size=4)) == b"12345"
    with pytest.raises(InvalidDocument) as caught:
        load(path, limits=Limits(size=4))
    assert caught.value.report.errors[0].rule == "encoding.too-big"


def test_a_file_that_grows_while_it_is_read_stops_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    class _Growing(io.RawIOBase):
        taken = 0

        def read(self, size: int = -1) -> bytes:
            self.taken += min(size, 3)
            return b"x" * min(size, 3)

    growing = _Growing()
    monkeypatch.setattr(sys, "stdin", type("Text", (), {"buffer": growing})())
    assert len(read_document("-", Limits(size=10))) == 11
    assert growing.taken == 11


def test_standard_input_that_is_closed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(StoreError, match="standard input is closed"):
        read_document("-", Limits())


def test_standard_input_that_cannot_be_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    descriptor = os.open(tmp_path / "x", os.O_WRONLY | os.O_CREAT)
    with open(descriptor, "rb", buffering=0) as raw:
        monkeypatch.setattr(sys, "stdin", type("Text", (), {"buffer": raw})())
        with pytest.raises(MachineError, match="cannot read -: Bad file descriptor"):
            read_document("-", Limits())
