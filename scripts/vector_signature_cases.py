"""Runs of the test vectors that are signed: good ones, changed ones, and one for each wrong signature."""

import base64
import json
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from typing import Any

from vector_cases import Case, replaced, without
from vector_run import (
    AMENDMENTS,
    METADATA,
    NOTE,
    NOTES,
    SIGNATURE,
    Fields,
    Files,
    amend,
    lines_of,
    redaction,
    run,
)
from vector_run_cases import GOOD, document, resealed
from vector_signatures import (
    ALICE,
    BOB,
    CAROL,
    CAROL_384,
    CAROL_521,
    DAVE,
    ERIN,
    FRANK,
    GRACE,
    HEIDI,
    MALLORY,
    SHORT_RSA,
    Signing,
    VectorKey,
    compact,
    ed25519,
    envelope,
    line,
    signed,
    ssh,
    statement,
    with_envelope,
    with_payload,
    with_value,
)

from runcard.encoding import COMPACT, decode_json, encode_json

SIGNED = signed(GOOD)
BY_SSH = signed(GOOD, Signing(BOB, ssh))


def good(name: str, done: str, files: Files, kinds: str = "", trust: str = "") -> Case:
    return Case(name, done, files, kinds, signed=True, trust=trust)


def unsigned_change(name: str, done: str, files: Files, kinds: str = "", trust: str = "") -> Case:
    """A run that was changed after it was signed: with a file of signers an error, else a warning."""
    return Case(name, done, files, f"{kinds} signer", signed=False, trust=trust, is_warning=not trust)


def line_without_payload(files: Files) -> Files:
    """The run with its only amendment, whose payload was taken out, as it can be from a journal."""
    (only,) = lines_of(files[AMENDMENTS])
    kept = {key: value for key, value in only.items() if key not in {"payload", "salt"}}
    return {**files, AMENDMENTS: encode_json(kept, COMPACT)}


def wrong(name: str, done: str, files: Files) -> Case:
    """A wrong signature of a run that is unchanged otherwise."""
    return Case(name, done, files, "signature", intact=False, signed=False)


def right_signatures() -> Iterator[Case]:
    yield good("signed", "it was signed with a key of Ed25519", SIGNED)
    keys = (
        ("ed25519", "an SSH key of Ed25519", BOB),
        ("ecdsa-256", "an SSH key of ECDSA P-256", CAROL),
        ("ecdsa-384", "an SSH key of ECDSA P-384", CAROL_384),
        ("ecdsa-521", "an SSH key of ECDSA P-521", CAROL_521),
        ("rsa", "an SSH key of RSA", DAVE),
        ("hardware-ed25519", "an SSH key of Ed25519 on hardware", GRACE),
        ("hardware-ecdsa", "an SSH key of ECDSA on hardware", HEIDI),
    )
    for name, what, key in keys:
        yield good(f"signed-ssh-{name}", f"it was signed with {what}", signed(GOOD, Signing(key, ssh)))
    short_hash = Signing(BOB, partial(ssh, hash_name="sha256"))
    yield good("signed-ssh-sha256", "an SSH signature with the hash SHA-256", signed(GOOD, short_hash))
    yield good("signed-by-two", "two people signed it", signed(SIGNED, Signing(BOB)))
    both = with_envelope(SIGNED, lambda data: data["signatures"].append(_signature_of(Signing(ALICE, ssh))))
    yield good("signed-twice-in-one-envelope", "an envelope with two signatures", both)
    more = signed(GOOD, edit=lambda data: data["predicate"].update(remark="a field that no reader knows"))
    yield good("signed-unknown-field", "the statement has a field that no reader knows", more)
    yield good("signed-line-feed", "the statement ends with a line feed", _with_line_feed())
    yield good(
        "signed-no-key-id",
        "the envelope does not name the key",
        with_envelope(SIGNED, lambda data: data["signatures"][0].pop("keyid")),
    )
    url = with_envelope(
        SIGNED,
        lambda data: data["signatures"][0].update(
            sig=data["signatures"][0]["sig"].translate({43: "-", 47: "_"})
        ),
    )
    yield good("signed-url-alphabet", "the signature is in the other alphabet of Base64", url)
    yield from _signed_and_amended()
    yield from _trusted()


def _signature_of(how: Signing) -> Fields:
    """A signature of the statement that Alice signed, by another way or another key."""
    payload = base64.b64decode(json.loads(SIGNED[SIGNATURE])["payload"])
    made: Fields = envelope(payload, how)["signatures"][0]
    return made


def _signed_and_amended() -> Iterator[Case]:
    removal = redaction("notes.txt", NOTES, None)
    later = without(amend(SIGNED, removal), "notes.txt")
    yield unsigned_change(
        "signed-then-amended", "it was signed, then a file was removed by an amendment", later, "withheld"
    )
    yield unsigned_change(
        "signed-then-amended-required",
        "it was signed, then a file was removed by an amendment, and a signature is required",
        later,
        "withheld",
        "signers",
    )
    again = signed(later, Signing(BOB))
    yield good(
        "signed-amended-signed", "it was signed, amended, and signed by a second person", again, "withheld"
    )
    yield good(
        "signed-then-noted", "it was signed, then a note was added", amend(SIGNED, NOTE), trust="signers"
    )
    approval: tuple[str, Fields] = ("approval", {"approved_by": "bob"})
    yield good("signed-then-approved", "it was signed, then approved", amend(SIGNED, approval))
    better = b"better\n"
    forged = {**amend(SIGNED, redaction("notes.txt", NOTES, better)), "notes.txt": better}
    yield unsigned_change(
        "signed-output-replaced",
        "it was signed, then a redaction gave an output other content",
        forged,
        "amended",
    )
    as_note = ("note", {**redaction("notes.txt", NOTES, better)[1], "text": "harmless"})
    yield unsigned_change(
        "signed-output-replaced-by-note",
        "it was signed, then a note named an output and a new digest of it",
        {**amend(SIGNED, as_note), "notes.txt": better},
        "amended",
    )
    as_migration = ("migration", redaction("notes.txt", NOTES, better)[1])
    yield unsigned_change(
        "signed-output-migrated",
        "it was signed, then a migration gave an output other content, and the original is not there",
        {**amend(SIGNED, as_migration), "notes.txt": better},
        "missing",
    )._replace(kinds="missing", complete=False)
    yield unsigned_change(
        "signed-unknown-amendment",
        "it was signed, then amended in a way that no reader knows",
        amend(SIGNED, ("blessing", {})),
    )
    yield unsigned_change(
        "signed-amended-by-stranger",
        "it was signed, a redaction gave an output other content, and a stranger signed that",
        signed(forged, Signing(MALLORY)),
        "amended",
        "signers",
    )._replace(is_untrusted=True)
    emptied = line_without_payload(amend(GOOD, NOTE))
    yield Case(
        "amendment-payload-removed",
        "the payload of an amendment was taken out",
        emptied,
        "chain",
        intact=False,
    )
    noted = signed(amend(GOOD, NOTE))
    yield Case(
        "signed-amendment-removed",
        "a note was signed, and then removed",
        without(noted, "amendments.jsonl"),
        "tail",
        complete=False,
    )
    other = amend(noted, ("note", {"text": "another note"}))
    yield wrong("signed-amendment-replaced", "a note was signed, and then replaced by another one", other)


def _trusted() -> Iterator[Case]:
    yield good("trusted", "the file of signers has the key", SIGNED, trust="signers")
    two = signed(SIGNED, Signing(BOB))
    yield good("trusted-author-and-reviewer", "an author and a reviewer signed", two, trust="author,reviewer")
    yield Case(
        "untrusted-not-signed",
        "it is not signed, and a signature is required",
        GOOD,
        "signer",
        trust="signers",
    )
    for name, what, key in (
        ("stranger", "a key that the file of signers does not have", MALLORY),
        ("expired", "a key that is not valid any more", ERIN),
        ("other-namespace", "a key that the file of signers allows for Git only", FRANK),
    ):
        files = signed(GOOD, Signing(key))
        yield good(f"untrusted-{name}", f"it was signed with {what}", files, "signer", "signers")._replace(
            signed=False, is_untrusted=True
        )
    yield good(
        "untrusted-two-lines",
        "a stranger signed a statement of two lines, the second of which names the type of each key",
        _of_two_lines(MALLORY),
        "signer",
        "signers",
    )._replace(signed=False, is_untrusted=True)
    beside = signed(SIGNED, Signing(MALLORY))
    yield good(
        "trusted-beside-a-stranger", "of two signers, the file of signers has one", beside, trust="signers"
    )
    same = signed(SIGNED)
    yield good(
        "untrusted-same-person-twice",
        "one person signed twice, and two are required",
        same,
        "signer",
        "author,reviewer",
    )


def _with_line_feed() -> Files:
    """A signed run whose statement ends with a line feed, as in the records that runcard makes."""
    return {**GOOD, SIGNATURE: line(envelope(compact(statement(GOOD, ALICE)) + b"\n", Signing()))}


def _of_two_lines(key: VectorKey) -> Files:
    """A signed run whose statement has a line of its own with `public_key`: a program that reads lines takes it for another key."""
    payload = compact(statement(GOOD, key))[:-1] + b',\n"note":{"public_key":"ssh-ed25519 "}}'
    return {**GOOD, SIGNATURE: line(envelope(payload, Signing(key)))}


def changed_after_signing() -> Iterator[Case]:
    forged = {**SIGNED, "notes.txt": b"better\n"}
    yield Case(
        "signed-file-changed",
        "a file was changed after signing",
        forged,
        "changed",
        intact=False,
        signed=False,
    )
    yield Case(
        "signed-file-missing",
        "a file was removed after signing",
        without(SIGNED, "notes.txt"),
        "missing",
        complete=False,
        signed=False,
    )
    reformatted = {**SIGNED, METADATA: encode_json(decode_json(SIGNED[METADATA]), COMPACT)}
    yield wrong(
        "signed-document-other-layout", "the document was written again with the same content", reformatted
    )
    edited = document(SIGNED, lambda data: data["generation"].update(status="failed"))
    yield wrong("signed-document-status", "in the document, the status was changed", edited)._replace(
        kinds="document signature"
    )
    yield wrong(
        "signed-resealed",
        "a file was changed, the list made again, and its digest in the document too",
        resealed(forged),
    )
    other = run(outputs={"notes.txt": b"better\n"})
    yield wrong(
        "signed-another-record",
        "the signature of another run was added",
        {**other, SIGNATURE: SIGNED[SIGNATURE]},
    )


def flip(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


ENVELOPES: tuple[tuple[str, str, Callable[[Fields], Any]], ...] = (
    (
        "other-type-unsigned",
        "the payload type was changed after signing",
        lambda data: data.update(payloadType="application/json"),
    ),
    ("no-type", "the envelope has no payload type", lambda data: data.pop("payloadType")),
    ("no-payload", "the envelope has no payload", lambda data: data.pop("payload")),
    (
        "no-signatures",
        "the envelope has an empty list of signatures",
        lambda data: data.update(signatures=[]),
    ),
    ("signatures-not-a-list", "the signatures are not a list", lambda data: data.update(signatures={})),
    ("signature-not-an-object", "a signature is not an object", lambda data: data.update(signatures=["x"])),
    ("no-value", "a signature has no value", lambda data: data["signatures"][0].pop("sig")),
    ("not-base64", "the signature is not Base64", lambda data: data["signatures"][0].update(sig="!!!!")),
    ("payload-not-base64", "the payload is not Base64", lambda data: data.update(payload="{}")),
    (
        "too-long",
        "the signature has 70,000 bytes",
        lambda data: data["signatures"][0].update(sig="A" * 93_336),
    ),
    (
        "too-many",
        "the envelope has 101 signatures",
        lambda data: data.update(signatures=[{"sig": "AAAA"}] * 101),
    ),
    ("empty-value", "the signature is empty", lambda data: data["signatures"][0].update(sig="")),
    ("not-an-object", "the envelope is a list", lambda data: [data]),
    (
        "second-is-wrong",
        "of two signatures, the second is wrong",
        lambda data: data["signatures"].append({"sig": "AAAA" * 21 + "AA=="}),
    ),
)

STATEMENTS: tuple[tuple[str, str, Callable[[Fields], Any]], ...] = (
    (
        "another-predicate",
        "the predicate is of another type",
        lambda data: data.update(predicateType="https://slsa.dev/provenance/v1"),
    ),
    (
        "not-a-statement",
        "what was signed is not an in-toto statement",
        lambda data: data.update(_type="something"),
    ),
    ("no-predicate", "the statement has no predicate", lambda data: data.pop("predicate")),
    ("no-subjects", "the statement has no list of subjects", lambda data: data.pop("subject")),
    ("no-document", "the metadata document is not among the subjects", lambda data: data["subject"].pop(0)),
    (
        "subject-no-digest",
        "a subject has no SHA-256 digest",
        lambda data: data["subject"][2]["digest"].pop("sha256"),
    ),
    (
        "other-document",
        "the statement names another digest of the document",
        lambda data: data["subject"][0]["digest"].update(sha256="0" * 64),
    ),
    (
        "other-list",
        "the statement names another digest of the list",
        lambda data: data["subject"][1]["digest"].update(sha256="0" * 64),
    ),
    (
        "other-output",
        "the statement names another digest of a file",
        lambda data: data["subject"][3]["digest"].update(sha256="0" * 64),
    ),
    (
        "more-outputs",
        "the statement names a file that is not listed",
        lambda data: data["subject"].append({"name": "x", "digest": {"sha256": "0" * 64}}),
    ),
    ("other-id", "the statement names another id", lambda data: data["predicate"].update(id="run-other")),
    ("other-kind", "the statement is about a session", lambda data: data["predicate"].update(kind="session")),
    (
        "other-chains",
        "the statement names other chains",
        lambda data: data["predicate"].update(event_chains=[]),
    ),
    ("no-key", "the statement names no key", lambda data: data["predicate"].pop("signer")),
    (
        "unreadable-key",
        "the statement names a key that cannot be read",
        lambda data: data["predicate"]["signer"].update(public_key="ssh-ed25519 AAAA"),
    ),
    (
        "other-key",
        "the statement names another key",
        lambda data: data["predicate"]["signer"].update(public_key=MALLORY.public),
    ),
)


def wrong_signatures() -> Iterator[Case]:
    """Signatures that are wrong, or not about this run. Those with a wrong statement are made with the right key."""
    yield wrong("signature-flipped-bit", "one bit of the signature was changed", with_value(SIGNED, flip))
    yield wrong(
        "signature-cut", "the signature is one byte short", with_value(SIGNED, lambda value: value[:-1])
    )
    later = with_payload(SIGNED, lambda data: data["predicate"].update(signed_at="2020-01-01T00:00:00Z"))
    yield wrong("signature-other-time", "the time in the statement was changed after signing", later)
    for name, what, edit in ENVELOPES:
        yield wrong(f"signature-{name}", what, with_envelope(SIGNED, edit))
    other_type = signed(GOOD, Signing(payload_type="application/json"))
    yield wrong("signature-other-type", "it was signed as something of another type", other_type)
    for name, what, edit in STATEMENTS:
        yield wrong(f"statement-{name}", what, signed(GOOD, edit=edit))
    doubled = replaced(SIGNED, SIGNATURE, b'{"payloadType"', b'{"payloadType":"x","payloadType"')
    yield wrong("signature-duplicate-key", "a key is there twice in the envelope", doubled)
    yield wrong("signature-not-json", "the envelope is not JSON", {**GOOD, SIGNATURE: b"signed\n"})
    yield wrong("signature-empty-file", "the file of signatures is empty", {**GOOD, SIGNATURE: b""})
    yield wrong(
        "signature-torn-line",
        "there is half a line after the signature",
        {**SIGNED, SIGNATURE: SIGNED[SIGNATURE] + b'{"payl'},
    )
    twice = signed(GOOD, edit=lambda data: data["subject"].append(data["subject"][0]))
    yield wrong("statement-subject-twice", "the statement names a file twice", twice)
    bad = with_value(signed(GOOD, Signing(BOB)), flip)[SIGNATURE]
    yield wrong(
        "signature-second-line",
        "of two signatures, that of the second person is wrong",
        {**SIGNED, SIGNATURE: SIGNED[SIGNATURE] + bad},
    )
    early = signed(GOOD, edit=lambda data: data["predicate"]["amendments"].update(count=3, head="0" * 64))
    yield Case(
        "statement-more-amendments",
        "the statement names three amendments, and there are none",
        early,
        "tail",
        complete=False,
    )
    yield from _wrong_ssh()


def _wrong_ssh() -> Iterator[Case]:
    yield wrong("ssh-flipped-bit", "one bit of an SSH signature was changed", with_value(BY_SSH, flip))
    makers = (
        ("other-namespace", "an SSH signature for Git", partial(ssh, namespace="git")),
        ("version", "an SSH signature of version 2", partial(ssh, version=2)),
        ("hash", "an SSH signature with the hash SHA-1", partial(ssh, hash_name="sha1")),
    )
    for name, what, make in makers:
        yield wrong(f"ssh-{name}", what, signed(GOOD, Signing(BOB, make)))
    yield wrong(
        "ssh-more-bytes",
        "an SSH signature with a byte at its end",
        with_value(BY_SSH, lambda value: value + b"\0"),
    )
    yield wrong("ssh-cut", "an SSH signature that was cut", with_value(BY_SSH, lambda value: value[:-20]))
    short = signed(
        GOOD, Signing(SHORT_RSA, ssh), lambda data: data["predicate"]["signer"].update(public_key=BOB.public)
    )
    yield wrong("ssh-rsa-1024", "a key of RSA with 1,024 bits", short)
    swapped = with_value(BY_SSH, lambda value: value.replace(BOB.blob, MALLORY.blob))
    yield wrong("ssh-other-key", "the key in an SSH signature was replaced", swapped)
    untouched = GRACE._replace(sign=_untouched)
    yield wrong(
        "ssh-hardware-not-touched",
        "a key on hardware signed without a touch",
        with_value(signed(GOOD, Signing(untouched, ssh)), lambda value: value[:-5] + b"\0" + value[-4:]),
    )
    old = DAVE._replace(algorithm="ssh-rsa")
    yield Case(
        "ssh-rsa-sha1",
        "an RSA signature with SHA-1, which is not accepted: as if it were not signed",
        signed(GOOD, Signing(old, ssh)),
    )
    strange = BOB._replace(
        algorithm="ssh-ed448", type="ssh-ed448", blob=b"\0\0\0\x09ssh-ed448" + BOB.blob[15:]
    )
    unknown = signed(
        GOOD, Signing(strange, ssh), lambda data: data["predicate"]["signer"].update(public_key=BOB.public)
    )
    yield Case(
        "ssh-unknown-algorithm", "a key of a type that is not known: as if it were not signed", unknown
    )


def _untouched(data: bytes) -> bytes:
    """The signature of a security key that nobody touched."""
    head = sha256(b"ssh:").digest() + b"\x00" + (7).to_bytes(4, "big")
    return ed25519("grace").sign(head + sha256(data).digest())


def signature_cases() -> Iterator[Case]:
    """All runs that are signed."""
    yield from right_signatures()
    yield from changed_after_signing()
    yield from wrong_signatures()
