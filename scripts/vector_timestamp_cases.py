"""Runs of the test vectors that are time-stamped: good ones, and one for each wrong time-stamp."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

from vector_cases import Case
from vector_run import NOTE, SIGNATURE, Files, amend, run
from vector_run_cases import GOOD
from vector_signatures import BOB, ERIN, Signing, signed, ssh, with_value
from vector_timestamps import (
    ENDED,
    FOR_ANYTHING,
    FOR_BOTH,
    FOR_SERVERS,
    LATE,
    NOT_CRITICAL,
    SHORT_KEY,
    STRANGER,
    TIMESTAMPS,
    TSA,
    Stamp,
    head,
    refusal,
    stamped,
)

SIGNED = signed(GOOD)
RIGHT = Stamp(head(GOOD))


def good(name: str, done: str, files: Files, kinds: str = "", **facts: object) -> Case:
    is_signed = True if "metadata.json.sig" in files else None
    case = Case(f"timestamp-{name}", done, files, kinds, signed=is_signed, timestamped=True)
    return case._replace(**facts)  # type: ignore[arg-type]


def wrong(name: str, done: str, reply: bytes) -> Case:
    """A wrong time-stamp of a run that is unchanged otherwise."""
    files = {**GOOD, TIMESTAMPS: reply}
    return Case(f"timestamp-{name}", done, files, "timestamp", intact=False, timestamped=False)


def right_timestamps() -> Iterator[Case]:
    yield good("good", "its document was stamped", stamped(GOOD))
    yield good("of-signature", "its signature was stamped", stamped(SIGNED))
    yield good("signed-later", "it was stamped, and then signed", signed(stamped(GOOD)))
    two = signed(stamped(SIGNED), Signing(BOB))
    yield good("second-signature", "a second person signed after it was stamped", two)
    yield good("twice", "two authorities stamped it", stamped(stamped(GOOD), by=STRANGER))
    amended = amend(stamped(GOOD), NOTE)
    yield good("then-amended", "it was amended after it was stamped", amended)


def trusted_timestamps() -> Iterator[Case]:
    yield good("trusted", "the file of authorities leads to it", stamped(GOOD), authorities="required")
    other = stamped(GOOD, by=STRANGER)
    yield good("stranger", "another authority of the same name", other, "authority", authorities="trusted")
    yield Case(
        "timestamp-none",
        "it is not time-stamped, and a time-stamp is required",
        GOOD,
        "authority",
        authorities="required",
    )
    old = signed(GOOD, Signing(ERIN))
    before, after = (datetime(year, 12, 1, tzinfo=UTC) for year in (2019, 2020))
    what = "it was signed with a key that is not valid any more, and stamped"
    facts = {"trust": "signers", "authorities": "trusted"}
    yield good("before-expiry", f"{what} before", stamped(old, time=before), **facts)
    yield good("after-expiry", f"{what} afterwards", stamped(old, time=after), "signer", **facts)._replace(
        signed=False, is_untrusted=True
    )
    strange = stamped(old, time=before, by=STRANGER)
    kinds = "authority signer"
    yield good("before-expiry-stranger", f"{what} before, by a stranger", strange, kinds, **facts)._replace(
        signed=False, is_untrusted=True
    )


def wrong_timestamps() -> Iterator[Case]:
    reply = RIGHT.to_bytes()
    other = run(events=())
    later = replace(RIGHT, time=datetime(2020, 1, 1, tzinfo=UTC)).info()
    for name, done, stamp in (
        ("other-imprint", "it is about another digest", replace(RIGHT, imprint=bytes(32))),
        ("another-run", "it is about another run", Stamp(head(other))),
        ("sha1-imprint", "it is about a digest of SHA-1", replace(RIGHT, imprint=bytes(20), imprint_algorithm="sha1")),
        ("sha1-signature", "it is signed with SHA-1", replace(RIGHT, algorithm="sha1")),
        ("other-time", "its time was changed after it was signed", replace(RIGHT, info_after=later)),
        ("other-purpose", "the certificate is for servers", replace(RIGHT, by=FOR_SERVERS)),
        ("two-purposes", "the certificate is for servers as well", replace(RIGHT, by=FOR_BOTH)),
        ("any-purpose", "the certificate has no purpose", replace(RIGHT, by=FOR_ANYTHING)),
        ("not-critical", "the purpose of the certificate is not critical", replace(RIGHT, by=NOT_CRITICAL)),
        ("certificate-later", "the certificate was not valid yet", replace(RIGHT, by=LATE)),
        ("certificate-ended", "the certificate was not valid any more", replace(RIGHT, by=ENDED)),
        ("short-key", "the authority has an RSA key of 1,024 bits", replace(RIGHT, by=SHORT_KEY)),
        ("other-certificate", "the signature names another certificate", replace(RIGHT, named=STRANGER)),
        ("other-key", "it comes with a certificate of another key", replace(RIGHT, by=replace(TSA, key=STRANGER.key))),
        ("no-certificate", "it comes without a certificate", replace(RIGHT, certificates=())),
        ("no-signer", "nobody signed it", replace(RIGHT, signers=0)),
        ("two-signers", "two signed it", replace(RIGHT, signers=2)),
    ):  # fmt: skip
        yield wrong(name, done, stamp.to_bytes())
    yield wrong("flipped-bit", "a bit of the signature was changed", reply[:-1] + bytes([reply[-1] ^ 1]))
    yield wrong("cut", "its end is missing", reply[:-40])
    yield wrong("more-bytes", "there are more bytes behind it", reply + b"\0\0")
    yield wrong("second-is-wrong", "of two time-stamps, the second is wrong", reply + reply[:-1] + b"\0")
    yield wrong("refused", "the authority refused", refusal())
    yield wrong("not-der", "it is something else", b"stamped, believe me\n")
    yield wrong("empty-file", "the file is empty", b"")


def backdated() -> Case:
    """Old lines with a signature that nobody can check: stamped, and put beside a run that is newer."""
    other = signed(run(events=()), Signing(BOB, ssh))
    lines = with_value(other, lambda value: value.replace(b"ssh-ed25519", b"ssh-ed25520"))[SIGNATURE]
    files = stamped({**GOOD, SIGNATURE: lines})
    done = "a signature of an unknown kind, about another run, was stamped"
    return Case("timestamp-backdated", done, files, "timestamp", intact=False, timestamped=False)


def timestamp_cases() -> Iterator[Case]:
    yield from right_timestamps()
    yield from trusted_timestamps()
    yield from wrong_timestamps()
    yield backdated()
