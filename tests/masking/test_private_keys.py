"""Private keys that are no PEM block: PuTTY's files, and a block in base64."""

import json
from base64 import b64encode
from random import Random

import pytest

from runcard.masking import Masker, mask_bytes, mask_text
from runcard.masking.private_keys import WINDOW

BODY = "\n".join("a1B2c3D4" * 8 for _ in range(4))
PUTTY = (
    "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: mine\nPublic-Lines: 2\n"
    + "AAAAC3Nz" * 8
    + "\nAAAA\nPrivate-Lines: 1\n"
    + "x9Y8z7W6" * 5
    + "\nPrivate-MAC: "
    + "0a1b2c3d" * 8
)


def block(kind: str) -> bytes:
    return f"-----BEGIN {kind}-----\n{BODY}\n-----END {kind}-----\n".encode()


def wrapped(raw: bytes, width: int) -> str:
    text = b64encode(raw).decode()
    return "\n".join(text[at : at + width] for at in range(0, len(text), width))


def fed(raw: bytes, seed: int) -> bytes:
    random, masker, out, at = Random(seed), Masker(), b"", 0  # noqa: S311
    while at < len(raw):
        size = random.choice([1, 1, 2, 5, 40, 300])
        out += masker.feed(raw[at : at + size])
        at += size
    return out + masker.flush()


@pytest.mark.parametrize("text", [PUTTY, PUTTY.replace("\n", "\r\n"), PUTTY.replace("\n", "\\n")])
def test_a_putty_file_is_masked_from_its_first_line_to_its_mac(text: str) -> None:
    assert mask_text(f"key:\n{text}\nnext") == ("key:\n[masked:private-key]\nnext", {"private-key": 1})


def test_a_putty_file_in_json_leaves_json() -> None:
    assert json.loads(mask_text(json.dumps({"ppk": PUTTY, "b": 1})).value) == {
        "ppk": "[masked:private-key]",
        "b": 1,
    }


def test_a_word_about_putty_stays() -> None:
    text = "PuTTY-User-Key-File-2: is how such a file begins\nPrivate-MAC: ends it\n"
    assert mask_text(text) == (text, {})


@pytest.mark.parametrize(
    "kind",
    [
        "PRIVATE KEY",
        "RSA PRIVATE KEY",
        "EC PRIVATE KEY",
        "DSA PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ],
)
@pytest.mark.parametrize("width", [64, 76, 100_000])
def test_a_private_key_in_base64_is_masked_with_all_its_lines(kind: str, width: int) -> None:
    text = wrapped(block(kind), width)
    assert mask_text(f"tls.key: {text}\nnext: 1").value == "tls.key: [masked:private-key]\nnext: 1"


@pytest.mark.parametrize("kind", ["CERTIFICATE", "PUBLIC KEY", "CERTIFICATE REQUEST"])
def test_other_blocks_in_base64_stay(kind: str) -> None:
    text = wrapped(block(kind), 76)
    assert mask_text(text).counts == {}


@pytest.mark.parametrize("seed", range(6))
def test_key_files_are_found_however_the_stream_is_cut(seed: int) -> None:
    raw = f"a\n{PUTTY}\nb {wrapped(block('EC PRIVATE KEY'), 76)}\nc\n{PUTTY}\n".encode()
    assert fed(raw, seed) == mask_bytes(raw).value
    assert mask_bytes(raw).counts == {"private-key": 3}


def test_a_putty_file_that_never_ends_is_not_waited_for_forever() -> None:
    masker = Masker()
    out = masker.feed(PUTTY.partition("Private")[0].encode() + b"a line of a log\n" * (WINDOW // 10))
    assert out.startswith(b"PuTTY-User-Key-File-3: ssh-ed25519\n")
