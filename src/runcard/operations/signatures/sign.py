"""Sign closed records: `runcard sign`.

A record that fails verification is not signed. The signature is a line of a file beside the metadata document, so that others
can sign as well, and the same person again after an amendment.
"""

import os
from dataclasses import dataclass

from runcard.encoding import JsonObject
from runcard.errors import StoreError, UsageError
from runcard.files import printable, shell_word
from runcard.operations.amendments.change_record import change_record, check_changeable
from runcard.operations.checks.verify import damage_of
from runcard.recording.record_signature import add_signature, configured_signer
from runcard.settings import read_settings
from runcard.signing.private_keys import Signer, agent_signer, load_plain_signer, load_ssh_signer
from runcard.store.find_record import open_record
from runcard.store.verification.signature_check import is_cut_line


@dataclass(frozen=True, slots=True)
class SignedRecordResult:
    """A record that was signed."""

    path: str
    id: str
    fingerprint: str
    signed_at: str
    is_new: bool  # False: the same key has signed it before, as it is now
    covers: tuple[str, ...] = ()  # the amendments that this key had not signed before, in words

    def to_dict(self) -> JsonObject:
        return {
            "path": printable(self.path),
            "id": self.id,
            "fingerprint": self.fingerprint,
            "signed_at": self.signed_at,
            "already_signed": not self.is_new,
            "covers": list(self.covers),
        }


def open_signer(*, key: str | None = None, ssh: str | None = None, ssh_agent: bool = False) -> Signer:
    """The key to sign with: one of `runcard keygen`, one of OpenSSH, one that an agent holds, or that of the settings."""
    if key is not None and (ssh is not None or ssh_agent):
        raise UsageError("--key excludes --ssh and --ssh-agent", hint="name one key")
    if key is not None:
        return load_plain_signer(key)
    if ssh_agent:
        return agent_signer(ssh)
    if ssh is not None:
        return load_ssh_signer(ssh)
    return configured_signer(read_settings())


def sign(record: str | os.PathLike[str], signer: Signer) -> SignedRecordResult:
    """Sign a closed run or session, archived or not; raises StoreError for one that fails verification."""
    source = open_record(record)
    check_changeable(source)
    if not source.is_archived and (damage := damage_of(source.path, except_for=is_cut_line)) is not None:
        raise StoreError(
            f"{printable(source.path)} was not signed, because it fails verification: {damage}",
            hint=f"see all of it: runcard verify {shell_word(source.path)}",
        )

    def add(directory: str) -> SignedRecordResult:
        added = add_signature(directory, signer)
        return SignedRecordResult(source.path, *added)

    return change_record(source, add)
