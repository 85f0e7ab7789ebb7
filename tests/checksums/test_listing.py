"""SHA256SUMS: written as sha256sum writes it, and read strictly."""

import contextlib
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runcard.checksums import Listing, make, read
from runcard.digests import Digest, sha256_bytes
from runcard.errors import EncodingError
from runcard.files import decode_name, encode_name

HEX = hashlib.sha256(b"x").hexdigest()
OTHER = hashlib.sha256(b"y").hexdigest()

RAW_NAMES = (
    st.binary(min_size=1, max_size=20)
    | st.text(st.sampled_from("\\\n\r -*./ax"), min_size=1, max_size=6).map(str.encode)
).filter(lambda raw: raw not in {b".", b".."} and not {0, ord("/")} & set(raw))
PATHS = st.lists(RAW_NAMES, min_size=1, max_size=3).map(lambda parts: decode_name(b"/".join(parts)))
DIGESTS = st.binary().map(sha256_bytes)
LISTINGS = st.dictionaries(PATHS, DIGESTS).map(Listing)

NASTY = [
    b"-",
    b"--",
    b"--help",
    b"-c",
    b" ",
    b"  ",
    b" lead",
    b"trail ",
    b"*",
    b"*star",
    b"\\",
    b"\\\\n",
    b"a\\nb",
    b"a\nb",
    b"\n",
    b"a\rb",
    b"a\r",
    b"\r\n",
    b"\\\r\n\\",
    b"# comment",
    b"...",
    b"\xff\xfe",
    b"caf\xe9",
    "日本 🎉".encode(),
    HEX.encode() + b"  name",
    HEX.encode(),
    f"SHA256 (a) = {HEX}".encode(),
    b"./".replace(b"/", b"\\"),
    b"n" * 255,
    b"\\" * 255,
    b"\xff" * 255,
]


def sha256sum(root: Path, names: list[bytes]) -> bytes:
    """What the real tool prints."""
    return subprocess.run(["sha256sum", "--", *names], cwd=root, check=True, capture_output=True).stdout


def assert_agrees_with_sha256sum(root: Path) -> None:
    listing = make(root).listing
    names = [encode_name("./-" if path == "-" else path) for path in listing]
    assert names
    assert listing.to_bytes() == sha256sum(root, names)
    check = ["sha256sum", "--check", "--strict", "--quiet"]
    subprocess.run(check, input=listing.to_bytes(), cwd=root, check=True, capture_output=True)


def put(root: Path, name: bytes, data: bytes = b"x") -> None:
    path = os.path.join(os.fsencode(root), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


class TestWriting:
    def test_a_line_for_each_file_in_the_order_of_the_bytes(self) -> None:
        names = ["b", "a/b", "a-b", "a", "é", "\udc80", "\udcff", "🎉", "z"]
        lines = Listing(dict.fromkeys(names, sha256_bytes(b"x"))).to_bytes().splitlines()
        assert [line[66:] for line in lines] == [
            b"a",
            b"a-b",
            b"a/b",
            b"b",
            b"z",
            b"\x80",
            "é".encode(),
            "🎉".encode(),
            b"\xff",
        ]

    @pytest.mark.parametrize("name", NASTY, ids=repr)
    def test_nasty_names_are_written_as_sha256sum_does(self, tmp_path: Path, name: bytes) -> None:
        put(tmp_path, name)
        assert_agrees_with_sha256sum(tmp_path)

    def test_all_nasty_names_together_and_in_directories(self, tmp_path: Path) -> None:
        for number, name in enumerate(NASTY):
            put(tmp_path, name, b"%d" % number)
            put(tmp_path, name + b".d/" + name if len(name) < 200 else b"d/" + name, b"-%d" % number)
        assert_agrees_with_sha256sum(tmp_path)

    def test_every_single_byte_is_a_name(self, tmp_path: Path) -> None:
        for byte in range(1, 256):
            if byte not in b"/.":
                put(tmp_path, bytes([byte]), b"%d" % byte)
        assert len(make(tmp_path).listing) == 253
        assert_agrees_with_sha256sum(tmp_path)

    @given(st.dictionaries(RAW_NAMES, st.binary(max_size=10), min_size=1, max_size=8))
    @settings(max_examples=60, deadline=None)
    def test_any_names_are_written_as_sha256sum_does(self, files: dict[bytes, bytes]) -> None:
        with tempfile.TemporaryDirectory() as root:
            for name, data in files.items():
                put(Path(root), name, data)
            assert_agrees_with_sha256sum(Path(root))

    def test_a_lone_dash_is_not_standard_input(self, tmp_path: Path) -> None:
        put(tmp_path, b"-")
        put(tmp_path, b"d/-")
        assert make(tmp_path).listing.to_bytes() == f"{HEX}  ./-\n{HEX}  d/-\n".encode()


class TestListing:
    def test_it_is_a_mapping_of_digests(self) -> None:
        listing = Listing({"b": sha256_bytes(b"x"), "a": sha256_bytes(b"y")})
        assert listing["a"] == Digest("sha256", OTHER)
        assert list(listing) == ["a", "b"]
        assert len(listing) == 2
        assert "b" in listing
        assert "c" not in listing
        assert repr(listing) == "<Listing of 2 files>"

    def test_its_digest_is_that_of_its_bytes(self) -> None:
        listing = Listing({"a": sha256_bytes(b"x")})
        assert listing.digest == sha256_bytes(f"{HEX}  a\n".encode())

    @given(LISTINGS)
    @settings(deadline=None)
    def test_what_is_written_is_read_back(self, listing: Listing) -> None:
        assert read(listing.to_bytes()) == listing

    @given(LISTINGS)
    @settings(deadline=None)
    def test_it_survives_a_text_tool_that_makes_crlf(self, listing: Listing) -> None:
        assert read(listing.to_bytes().replace(b"\n", b"\r\n")) == listing


class TestReading:
    @pytest.mark.parametrize(
        ("line", "path"),
        [
            (f"{HEX}  a", "a"),
            (f"{HEX} *a", "a"),
            (f"{HEX}   a", " a"),
            (f"{HEX}  *a", "*a"),
            (f"{HEX}  ./a/b", "a/b"),
            (f"{HEX}  ./-", "-"),
            (f"\\{HEX}  a\\nb\\r\\\\", "a\nb\r\\"),
            (f"\\{HEX} *a\\\\n", "a\\n"),
            (f"{HEX}  a\\nb", "a\\nb"),
        ],
    )
    def test_what_sha256sum_and_its_users_write_is_read(self, line: str, path: str) -> None:
        assert read(line.encode() + b"\n") == Listing({path: Digest("sha256", HEX)})

    def test_nothing_is_an_empty_listing(self) -> None:
        assert len(read(b"")) == 0

    def test_any_order_is_read(self) -> None:
        assert list(read(f"{HEX}  b\n{HEX}  a\n".encode())) == ["a", "b"]

    @pytest.mark.parametrize(
        "line",
        [
            b"",
            b"# comment",
            HEX.encode(),
            f"{HEX} a".encode(),
            f"{HEX}\ta".encode(),
            f"{HEX}  ".encode(),
            f"{HEX.upper()}  a".encode(),
            f"{HEX[:-1]}  a".encode(),
            f"{HEX}0  a".encode(),
            f" {HEX}  a".encode(),
            f"\\\\{HEX}  a".encode(),
            f"sha256:{HEX}  a".encode(),
            f"SHA256 (a) = {HEX}".encode(),
            f"{HEX}  a\0b".encode(),
            f"{HEX}  a\rb".encode(),
            f"{HEX}  a\r".encode(),
            f"\\{HEX}  a\\tb".encode(),
            f"\\{HEX}  a\\".encode(),
        ],
    )
    def test_a_malformed_line_is_reported_by_its_number(self, line: bytes) -> None:
        good = f"{HEX}  first\n".encode()
        with pytest.raises(EncodingError) as caught:
            read(good + line + b"\n" + good.replace(b"first", b"third"))
        assert (caught.value.rule, caught.value.line) == ("checksums.line", 2)
        assert caught.value.hint

    def test_a_file_that_was_cut_is_noticed(self) -> None:
        with pytest.raises(EncodingError, match="truncated") as caught:
            read(f"{HEX}  a\n{HEX}  long-na".encode())
        assert caught.value.line == 2

    @pytest.mark.parametrize(
        "path", ["/etc/passwd", "../a", "a/../../b", "..", "a//b", "a/./b", "././a", "./", "a/"]
    )
    def test_hostile_paths_are_refused(self, path: str) -> None:
        with pytest.raises(EncodingError, match="is refused") as caught:
            read(f"{HEX}  first\n{HEX}  {path}\n".encode())
        assert (caught.value.rule, caught.value.line) == ("checksums.path", 2)

    @pytest.mark.parametrize("again", ["a", "./a"])
    def test_a_path_that_is_listed_twice_is_refused(self, again: str) -> None:
        with pytest.raises(EncodingError, match="twice") as caught:
            read(f"{HEX}  a\n{OTHER}  b\n{OTHER} *{again}\n".encode())
        assert (caught.value.rule, caught.value.line) == ("checksums.duplicate", 3)

    @given(st.binary())
    @settings(deadline=None)
    def test_rubbish_is_refused_or_means_what_is_written_back(self, data: bytes) -> None:
        with contextlib.suppress(EncodingError):
            listing = read(data)
            assert read(listing.to_bytes()) == listing
