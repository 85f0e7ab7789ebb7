"""Digests as values, and hashing of bytes and streams."""

import hashlib
import io
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runcard.digests import Digest, sha256_bytes, sha256_descriptor, sha256_stream

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
BLOCK = 256 * 1024


def test_a_digest_says_its_algorithm() -> None:
    assert str(sha256_bytes(b"")) == f"sha256:{EMPTY}"


@given(st.binary())
@settings(deadline=None)
def test_what_is_written_is_read_back(data: bytes) -> None:
    digest = sha256_bytes(data)
    assert Digest.parse(str(digest)) == digest


@pytest.mark.parametrize(
    "text",
    [
        "",
        EMPTY,
        f"sha256:{EMPTY.upper()}",
        f"SHA256:{EMPTY}",
        f"sha256:{EMPTY}\n",
        f" sha256:{EMPTY}",
        f"sha256:{EMPTY[:-1]}",
        f"sha256:{EMPTY}0",
        f"sha256: {EMPTY}",
        f"md5:{EMPTY}",
        f"sha256::{EMPTY}",
        f"sha256:{'٣' * 64}",
    ],
)
def test_anything_but_the_exact_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="digest"):
        Digest.parse(text)


def test_a_malformed_digest_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="64 lower-case hex digits"):
        Digest("sha256", "abc")


@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
def test_streams_and_descriptors_of_any_length_are_hashed_whole(size: int, tmp_path: Path) -> None:
    data = os.urandom(size)
    path = tmp_path / "file"
    path.write_bytes(data)
    expected = Digest("sha256", hashlib.sha256(data).hexdigest())
    assert sha256_stream(io.BytesIO(data)) == expected
    with path.open("rb") as file:
        assert sha256_descriptor(file.fileno()) == expected
        file.fileno()  # still open


def test_hashing_begins_where_the_descriptor_stands(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"head:tail")
    descriptor = os.open(path, os.O_RDONLY)
    os.lseek(descriptor, 5, os.SEEK_SET)
    assert sha256_descriptor(descriptor) == sha256_bytes(b"tail")
    os.close(descriptor)


def test_each_block_is_announced() -> None:
    blocks: list[int] = []
    sha256_stream(io.BytesIO(bytes(2 * BLOCK + 7)), on_block=blocks.append)
    assert blocks == [BLOCK, BLOCK, 7]


def test_the_listener_can_stop_it() -> None:
    class EnoughError(Exception):
        pass

    def stop(_: int) -> None:
        raise EnoughError

    stream = io.BytesIO(bytes(10 * BLOCK))
    with pytest.raises(EnoughError):
        sha256_stream(stream, on_block=stop)
    assert stream.tell() == BLOCK
