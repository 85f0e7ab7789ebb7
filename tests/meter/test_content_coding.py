"""Content codings are undone as bodies arrive: in any pieces, in bounded memory, damaged or not."""

import gzip
import os
import tracemalloc
import zlib
from itertools import pairwise

import brotli
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meter.exchanges import ENCODERS
from runcard.observe.meter.content_coding import CodingError, ContentDecoder
from zstd_of_python import zstd

TEXT = b"".join(b"a line of text, number %d\n" % number for number in range(3_000))


def decoded(coding: str | None, *pieces: bytes) -> bytes:
    decoder = ContentDecoder(coding)
    return b"".join(part for piece in pieces for part in decoder.feed(piece))


@given(coding=st.sampled_from([*ENCODERS]), cuts=st.lists(st.integers(0, 100_000), max_size=10))
@settings(max_examples=100, deadline=None)
def test_a_body_is_decoded_in_whatever_pieces_it_comes(coding: str, cuts: list[int]) -> None:
    body = ENCODERS[coding](TEXT)
    places = [0, *sorted(cut % len(body) for cut in cuts), len(body)]
    assert decoded(coding, *(body[start:end] for start, end in pairwise(places))) == TEXT


def raw_deflate(data: bytes) -> bytes:
    encoder = zlib.compressobj(wbits=-15)
    return encoder.compress(data) + encoder.flush()


@pytest.mark.parametrize("size", [1, 2, 100_000])
def test_deflate_without_a_header_is_decoded(size: int) -> None:
    body = raw_deflate(TEXT)
    assert decoded("deflate", *(body[at : at + size] for at in range(0, len(body), size))) == TEXT


def test_several_members_and_several_codings() -> None:
    assert decoded("gzip", gzip.compress(b"a") + gzip.compress(b"b")) == b"ab"
    assert decoded("zstd", zstd.compress(b"a") + zstd.compress(b"b")) == b"ab"
    assert decoded("gzip, br", brotli.compress(gzip.compress(TEXT))) == TEXT
    assert decoded(" GZIP ,identity", gzip.compress(TEXT)) == TEXT
    assert decoded(None, b"a", b"b") == decoded("", b"ab") == b"ab"


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_body_that_is_cut_gives_what_came(coding: str) -> None:
    body = ENCODERS[coding](os.urandom(200_000))
    part = decoded(coding, body[: len(body) // 2])
    assert 0 <= len(part) < 200_000


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "compress", "gzip, " * 9])
def test_what_is_not_in_its_coding_is_an_error(coding: str) -> None:
    with pytest.raises(CodingError):
        decoded(coding, b"this is not compressed at all, whatever the header says" * 10)


def bombs() -> dict[str, bytes]:
    """50 MiB of zeros, compressed."""
    megabyte = bytes(1 << 20)
    gz, fl, br = zlib.compressobj(9, wbits=31), zlib.compressobj(9), brotli.Compressor(quality=5)
    zs = zstd.ZstdCompressor()
    found = {}
    for name, add, end in (
        ("gzip", gz.compress, gz.flush),
        ("deflate", fl.compress, fl.flush),
        ("br", br.process, br.finish),
        ("zstd", zs.compress, zs.flush),
    ):
        found[name] = b"".join(add(megabyte) for _ in range(50)) + end()
    return found


def test_a_bomb_is_given_up_in_little_memory() -> None:
    for coding, bomb in bombs().items():
        tracemalloc.start()
        with pytest.raises(CodingError, match="much larger"):
            sum(len(part) for part in ContentDecoder(coding).feed(bomb))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 20 << 20, coding


def test_a_frame_that_asks_for_more_memory_than_its_limit_is_refused() -> None:
    """The largest window that is accepted is 128 MiB; browsers and clients send up to 8 MiB."""
    for size, accepted in ((27, True), (28, False)):
        encoder = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: size})
        body = encoder.compress(TEXT, encoder.FLUSH_BLOCK) + encoder.flush()
        if accepted:
            assert decoded("zstd", body) == TEXT
        else:
            with pytest.raises(CodingError):
                decoded("zstd", body)
