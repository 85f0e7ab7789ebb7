"""Signing a closed record: by `runcard sign`, and with the setting `sign` when it is closed and when it is amended.

The signature is a line of a file beside the metadata document. A record that cannot be signed at closing is closed
all the same: that is a warning.
"""

import os
from typing import TYPE_CHECKING, NamedTuple

from runcard.errors import RuncardError, StoreError, UsageError
from runcard.files import failure, printable, shell_word
from runcard.settings import SIGNING_KEY, Settings, read_settings
from runcard.settings.apply import SigningSettings, signing_settings
from runcard.store import layout

if TYPE_CHECKING:
    from collections.abc import Collection

    from runcard.documents.signed_statement import SignedState
    from runcard.encoding import JsonObject
    from runcard.signing.private_keys import Signer
    from runcard.store.amendments.change import Amender
    from runcard.store.verification.signature_check import RecordSignature


class NewSignature(NamedTuple):
    """A signature that was added to a record."""

    record_id: str
    fingerprint: str
    signed_at: str
    is_new: bool = True  # False if the same key has signed the same state before
    covers: tuple[str, ...] = ()  # the amendments that this key had not signed before, in words


def configured_signer(settings: Settings) -> "Signer":
    """The key of the setting `signing.key`; raises UsageError without one."""
    return _load_signer(settings[SIGNING_KEY])


def _load_signer(path: str | None) -> "Signer":
    if path is None:
        raise UsageError(
            "no key was named",
            hint="pass your SSH key (--ssh ~/.ssh/id_ed25519, or --ssh-agent); or make a key with `runcard keygen --output runcard.pem`, and pass --key runcard.pem; or set signing.key",
        )
    from runcard.signing.private_keys import load_signer  # noqa: PLC0415 - few sign

    return load_signer(path)


def sign_at_closing(record: str, settings: Settings | None = None, *, is_own: bool = True) -> list[str]:
    """Sign a record that was just closed, if the settings say so; the warning if that failed.

    One that is not known to be this user's own is not signed: that would vouch for what somebody else wrote.
    """
    return _sign_if_set(record, settings, "closed", None, is_own=is_own)


def sign_amended(record: str, added: "Collection[str]") -> list[str]:
    """Sign a record that was just amended, if the settings say so; the warning if that failed.

    `added` are the hashes of the new amendments. Others from before, which may be forged, are not signed along with them.
    """
    return _sign_if_set(record, None, "amended", added)


def sign_closed_record(record: str, signing: SigningSettings) -> list[str]:
    """Sign a record that was just closed; the warning if that failed."""
    return _sign_or_warn(record, signing, "closed", None)


def _sign_if_set(
    record: str,
    settings: Settings | None,
    done: str,
    added: "Collection[str] | None",
    *,
    is_own: bool = True,
) -> list[str]:
    try:
        signing = signing_settings(settings or read_settings())
        if signing is not None and not is_own:
            raise StoreError("it is not known that you recorded it", hint="look at it first")
    except RuncardError as error:
        return [_warning(record, error, done)]
    return [] if signing is None else _sign_or_warn(record, signing, done, added)


def _sign_or_warn(
    record: str, signing: SigningSettings, done: str, added: "Collection[str] | None"
) -> list[str]:
    try:
        add_signature(record, _load_signer(signing.key), added)
    except RuncardError as error:
        return [_warning(record, error, done)]
    except OSError as error:
        return [_warning(record, failure(error, record, "sign"), done)]
    return []


def _warning(record: str, error: RuncardError, done: str) -> str:
    place = printable(record)
    return (
        f"{place} was {done}, and not signed: {error.message}; to sign it: runcard sign {shell_word(record)}"
    )


def add_signature(record: str, signer: "Signer", added: "Collection[str] | None" = None) -> NewSignature:
    """Sign the record in a directory. Whether it is intact is for the caller to check.

    With `added`, raise StoreError if it has other amendments than these since the same key signed it.
    """
    from runcard.store.amendments.change import amending  # noqa: PLC0415 - few sign

    with amending(record) as amender:
        return _sign(amender, signer, added)


def _sign(amender: "Amender", signer: "Signer", added: "Collection[str] | None") -> NewSignature:
    from runcard.documents.signed_statement import SignerFacts, make_statement  # noqa: PLC0415 - as above
    from runcard.observe.clock import Clock  # noqa: PLC0415
    from runcard.signing.envelope import sign_statement  # noqa: PLC0415
    from runcard.store.amendments.read import describe_line  # noqa: PLC0415
    from runcard.store.signatures import read_signatures, with_signature  # noqa: PLC0415

    state, ledger = _signed_state(amender)
    file = os.path.join(amender.path, layout.SIGNATURE)
    signatures = read_signatures(file) or b""
    known = _known_signature(state, signatures, signer) if signatures else None
    if known is not None and not known.changes_since and known.covers_files and known.signed_at:
        return NewSignature(amender.record_id, signer.public_key.fingerprint, known.signed_at, is_new=False)
    unsigned = _unsigned_lines(amender, known)
    if added is not None:
        _refuse_others(amender, unsigned, added)
    when = Clock().timestamp()
    facts = SignerFacts(str(signer.public_key), when, ledger)
    envelope = sign_statement(make_statement(state, facts, layout.METADATA), signer)
    try:
        amender.files.create(layout.SIGNATURE, with_signature(signatures, envelope.to_line()), amender.mode)
        amender.files.clear()
    except OSError as error:
        raise failure(error, file, "write") from error
    covers = tuple(map(describe_line, unsigned))
    return NewSignature(amender.record_id, signer.public_key.fingerprint, when, covers=covers)


def _signed_state(amender: "Amender") -> "tuple[SignedState, JsonObject | None]":
    """The record as it is signed, and its entry in the ledger."""
    from runcard.store.ledger import LedgerKey  # noqa: PLC0415 - few sign
    from runcard.store.signatures import SignedRecord, ledger_entry, signed_state  # noqa: PLC0415

    kind = "session" if amender.is_session else "run"
    name = os.path.basename(amender.path)
    lines = amender.amendments.journal.entries if amender.amendments.journal else ()
    state = signed_state(
        SignedRecord(kind, amender.record_id, name),
        amender.sealed_document(),
        amender.sealed,
        amender.listing,
        (entry.line for entry in lines),
        amender.listing_digest,
    )
    key = LedgerKey(kind, name if amender.is_session else amender.record_id)
    return state, ledger_entry(layout.store_of(amender.path), key)


def _unsigned_lines(amender: "Amender", known: "RecordSignature | None") -> "list[JsonObject]":
    """The amendments that the signer has not signed; `known` is the signer's last signature."""
    lines = [entry.line for entry in amender.amendments.journal.entries] if amender.amendments.journal else []
    return lines if known is None else lines[len(lines) - known.changes_since :]


def _refuse_others(amender: "Amender", unsigned: "list[JsonObject]", added: "Collection[str]") -> None:
    """Raise StoreError if the signer has not signed other amendments than `added`."""
    others = sum(line["hash"] not in added for line in unsigned)
    if others:
        what = "an amendment" if others == 1 else f"{others:,} amendments"
        raise StoreError(
            f"it has {what} from before that you did not sign; look first: runcard show {shell_word(amender.path)}"
        )


def _known_signature(state: "SignedState", signatures: bytes, signer: "Signer") -> "RecordSignature | None":
    """The last signature of the signer, with how many amendments came after it; None without one."""
    from runcard.encoding import Limits  # noqa: PLC0415
    from runcard.store.verification.signature_check import SignatureCheck  # noqa: PLC0415 - few sign twice

    check = SignatureCheck(state, Limits(), [True] * len(state.amendments))
    list(check.findings(signatures))
    own = (each for each in check.good if each.key == signer.public_key)
    return min(own, key=lambda each: (each.changes_since, not each.covers_files), default=None)
