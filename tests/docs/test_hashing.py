"""The test vectors of the page about hashing, recomputed with runcard and with nothing but hashlib."""

import json
from hashlib import sha256
from typing import Any

import pytest
import rfc8785

from docs.pages import ROOT, blocks, code, rows
from runcard.digests import sha256_bytes
from runcard.encoding import canonical_json, decode_json

PAGE = ROOT / "docs" / "hashing.md"
VECTORS = [
    (code(row["value"]), code(row["canonical form"]), code(row["SHA-256"]))
    for row in rows(PAGE, "value", "canonical form")
]
STEPS = [
    (row["value"], code(row["hashed bytes"]), code(row["SHA-256"]))
    for row in rows(PAGE, "value", "hashed bytes", "SHA-256")
]
CHAIN = ("seq", "writer", "salt", "payload_sha256", "prev", "hash")


@pytest.mark.parametrize(("value", "canonical", "digest"), VECTORS, ids=[value for value, *_ in VECTORS])
def test_a_canonical_form_and_its_digest(value: str, canonical: str, digest: str) -> None:
    data = decode_json(value.encode())
    assert canonical_json(data) == canonical.encode()
    assert sha256_bytes(canonical_json(data)).hex == digest
    assert sha256(canonical.encode()).hexdigest() == digest


@pytest.mark.parametrize(("value", "canonical", "digest"), VECTORS, ids=[value for value, *_ in VECTORS])
def test_another_program_for_rfc_8785_agrees_once_large_integers_are_text(
    value: str, canonical: str, digest: str
) -> None:
    data = json.loads(value)
    large = isinstance(data, int) and abs(data) >= 2**53
    assert rfc8785.dumps(str(data) if large else data) == canonical.encode()
    assert digest


def test_the_vectors_show_both_sides_of_the_border() -> None:
    values = {value for value, *_ in VECTORS}
    assert {str(2**53 - 1), str(2**53), str(-(2**53))} <= values


def journal() -> list[dict[str, Any]]:
    (block,) = [block for block in blocks(PAGE, "text") if block.words == ("experiment.jsonl",)]
    return [json.loads(line) for line in block.text.splitlines()]


def test_the_journal_is_a_chain_by_the_words_of_the_page() -> None:
    """Written anew from the prose, so that the recipe and the page's own code are two."""
    prev = sha256(b"runcard-journal-1:run-01jcqz8v4n6q8s0t:w-5f2c").hexdigest()
    for number, line in enumerate(journal(), 1):
        payload = sha256_bytes(line["salt"].encode() + canonical_json(line["payload"])).hex
        rest = {key: value for key, value in line.items() if key not in {"payload", "salt", "hash"}}
        hashed = sha256_bytes(canonical_json(rest)).hex
        assert len(line["salt"]) == 32
        assert [line[key] for key in CHAIN if key != "salt"] == [number, "w-5f2c", payload, prev, hashed]
        prev = hashed


def test_the_intermediate_values_are_those_of_the_journal() -> None:
    lines = journal()
    expected = {"the first `prev`": lines[0]["prev"]}
    for number, line in enumerate(lines, 1):
        expected[f"`payload_sha256` of line {number}"] = line["payload_sha256"]
        expected[f"`hash` of line {number}"] = line["hash"]
    assert {what: digest for what, _, digest in STEPS} == expected
    for _, text, digest in STEPS:
        assert sha256(text.encode()).hexdigest() == digest


def test_the_page_names_the_fields_of_the_chain() -> None:
    assert tuple(code(row["field"]) for row in rows(PAGE, "field", "is")) == CHAIN
