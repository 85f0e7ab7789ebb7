"""runcard sign"""

from typing import TYPE_CHECKING

import click

from runcard.cli.options import RECORD, json_option
from runcard.cli.printing import say_done

if TYPE_CHECKING:
    from runcard.operations.signatures.sign import SignedRecordResult
    from runcard.operations.signatures.sign_store import SignedStoreResult


@click.command("sign")
@click.argument("records", nargs=-1, required=True, metavar="RECORD...", type=RECORD)
@click.option("--key", metavar="FILE", type=click.Path(), help="Private key made by `runcard keygen`.")
@click.option(
    "--ssh",
    metavar="FILE",
    type=click.Path(),
    help="Key of OpenSSH: the private file, or the .pub file of a key in the agent.",
)
@click.option("--ssh-agent", is_flag=True, help="Sign with the key in the SSH agent.")
@json_option
def command(
    records: tuple[str, ...], key: str | None, ssh: str | None, ssh_agent: bool, as_json: bool
) -> int:
    """Sign closed records, so that others can check who vouches for them.

    RECORD is a path, an id, a prefix of an id, a name, or @latest (@latest~1 is the one before). The signature is added to
    metadata.json.sig in the record. It covers all files and events, and the amendments so far. A record can be signed several
    times: by others, and again after an amendment. Nothing is added if the same key has signed it as it is. Amendments that the key
    had not signed are listed: they may be by others. A record that fails verification is not signed, nor one with amendments that the
    ledger of its store does not know: `runcard amend --accept` enters those.

    If RECORD is a store, its ledger is signed: all entries so far. Then a record that is removed or replaced is noticed, even
    if the ledger is rewritten.

    Exit codes: 0 signed, 1 not signed.
    """
    from runcard.cli.batch import Batch  # noqa: PLC0415
    from runcard.operations.signatures.sign import open_signer, sign  # noqa: PLC0415
    from runcard.operations.signatures.sign_store import is_store, sign_store  # noqa: PLC0415

    def work(path: str) -> "SignedRecordResult | SignedStoreResult":
        return sign_store(path, signer) if is_store(path) else sign(path, signer)

    signer = open_signer(key=key, ssh=ssh, ssh_agent=ssh_agent)
    batch = Batch("records", None, as_json=as_json, json_list="records")
    batch.each(records, work, _show)
    return batch.finish()


def _show(_: str, signed: "SignedRecordResult | SignedStoreResult") -> None:
    from runcard.operations.signatures.sign_store import SignedStoreResult  # noqa: PLC0415

    what = "ledger " if isinstance(signed, SignedStoreResult) else ""
    if signed.is_new:
        say_done(f"{signed.path}: {what}signed with {signed.fingerprint}")
        for line in signed.covers:
            say_done(f"  this covers: {line}")
    else:
        say_done(
            f"{signed.path}: {what}already signed with {signed.fingerprint} at {signed.signed_at}, and unchanged since"
        )
