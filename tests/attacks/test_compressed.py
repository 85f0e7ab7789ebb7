"""Compressed files and replies made to keep the reader busy: a kilobyte that unpacks to 32 MiB, and thousands of empty frames.

What a reader does is counted in bytes that its decoder gets, and not timed.
"""

import io
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from runcard.encoding import zstd as zstd_module
from runcard.observe.meter.content_coding import CodingError, ContentDecoder
from runcard.transcripts.zstd_file import UnpackError, unpacked
from zstd_of_python import zstd

_MAGIC = b"\x28\xb5\x2f\xfd"
_WINDOW = b"\x00\x38"  # of 128 KiB
_SKIPPABLE = b"\x50\x2a\x4d\x18\0\0\0\0"
_EMPTY_FRAME = _MAGIC + _WINDOW + b"\1\0\0"
_EMPTY_MEMBER = zlib.compress(b"", wbits=31)
_BLOCK = 1 << 17  # bytes that a block of zstd unpacks to, at most
_FRAMES = 8000
_COPIES = 100  # how often a byte may be copied while it is read


def repeated(byte: bytes, blocks: int) -> bytes:
    """One frame that unpacks to so many blocks of the same byte; each takes 4 bytes."""
    headers = [_BLOCK << 3 | 2 | (number == blocks - 1) for number in range(blocks)]
    return _MAGIC + _WINDOW + b"".join(header.to_bytes(3, "little") + byte for header in headers)


def test_a_kilobyte_of_empty_lines_is_given_up(cli: Cli, here: Path) -> None:
    file = here / "rollout-2026-01-01T00-00-00-0199a213-81a3-7800-8fc0-000000000001.jsonl.zst"
    file.write_bytes(repeated(b"\n", 250))
    assert file.stat().st_size < 1100
    for command in (("import", "codex", str(file)), ("costs", str(file), "--source", "codex")):
        result = cli(*command)
        assert "zstd -d" in result.out + result.err, command


def test_a_session_file_is_read_as_far_as_its_length_allows() -> None:
    """What unpacks to more than any session file does is not read on; ten times a text that packs well is."""
    for size in (1 << 10, 1 << 13):
        stream, sizes = unpacked(io.BytesIO(repeated(b"\n", size // 4))), list[int]()
        with pytest.raises(UnpackError, match="200 times"):
            sizes.extend(map(len, iter(partial(stream.read, 1 << 16), b"")))
        assert sum(sizes) < (1 << 19) + 300 * size
    lines = b"".join(
        b'{"type":"event_msg","number":%d,"text":"the same in each"}\n' % n for n in range(50_000)
    )
    packed = zstd.compress(lines)
    assert len(lines) > 10 * len(packed)
    assert unpacked(io.BytesIO(packed)).read() == lines


@pytest.mark.parametrize("frame", [_SKIPPABLE, _EMPTY_FRAME])
def test_empty_frames_are_not_copied_again_and_again(frame: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    given = counted(monkeypatch)
    data = frame * _FRAMES
    assert unpacked(io.BytesIO(data)).read() == b""
    assert sum(given) < _COPIES * len(data)


@pytest.mark.parametrize("frame", [_SKIPPABLE, _EMPTY_FRAME])
def test_empty_frames_in_a_reply_are_not_copied_again_and_again(
    frame: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = counted(monkeypatch)
    data = frame * _FRAMES
    assert b"".join(ContentDecoder("zstd").feed(data)) == b""
    assert sum(given) < _COPIES * len(data)


def test_empty_members_in_a_reply_are_not_copied_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    make = zlib.decompressobj

    class Counter:
        def __init__(self, window: int) -> None:
            self._decoder = make(window)

        def decompress(self, data: bytes, size: int) -> bytes:
            given.append(len(data))
            return self._decoder.decompress(data, size)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._decoder, name)

    monkeypatch.setattr("runcard.observe.meter.content_coding.zlib.decompressobj", Counter)
    data = _EMPTY_MEMBER * _FRAMES
    assert b"".join(ContentDecoder("gzip").feed(data)) == b""
    assert sum(given) < _COPIES * len(data)


def test_a_small_reply_that_unpacks_to_very_much_is_given_up() -> None:
    sizes: list[int] = []
    with pytest.raises(CodingError, match="much larger"):
        sizes.extend(map(len, ContentDecoder("zstd").feed(repeated(b"\n", 2000))))
    assert sum(sizes) < 32 << 20


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of what a zstd decoder gets from now on."""
    given: list[int] = []

    class Counter:
        def __init__(self) -> None:
            self._decoder = zstd.ZstdDecompressor()

        def decompress(self, data: bytes, size: int) -> bytes:
            given.append(len(data))
            return self._decoder.decompress(data, size)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._decoder, name)

    monkeypatch.setattr(zstd_module, "ZstdDecompressor", Counter)
    return given
