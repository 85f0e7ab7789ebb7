"""runcard anchor"""

import shlex
from typing import TYPE_CHECKING

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import TEXT, json_option
from runcard.cli.printing import complain, say_done, say_json
from runcard.cli.signatures.timestamp_options import describe, show_next_step, timestamp_options

if TYPE_CHECKING:
    from runcard.operations.signatures.anchor import AnchorResult


@click.command("anchor")
@click.argument("store", metavar="STORE", type=click.Path())
@timestamp_options
@click.option(
    "--proof",
    metavar="RECORD",
    type=TEXT,
    help="Anchor nothing; write the proof that RECORD is in a time-stamped anchor, to send it with the record.",
)
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(),
    help="File for the proof. Default: NAME.proof.json in the current directory.",
)
@json_option
def command(
    store: str,
    tsa: str | None,
    request: str | None,
    response: str | None,
    tsa_certs: str | None,
    proof: str | None,
    output: str | None,
    as_json: bool,
) -> int:
    """Time-stamp all records of a store at once.

    STORE is a folder of records, such as outputs. The heads of all closed records, and of the ledgers, become one Merkle
    tree, and an authority stamps its root. So one time-stamp is for thousands of records. The anchor is kept in
    .runcard/anchors of the store; keep a copy in another place. `runcard verify STORE` then finds records that were deleted
    or replaced since.

    Exit codes: 0 anchored, 1 not, 2 some records are not in the anchor.
    """
    from runcard.errors import UsageError  # noqa: PLC0415
    from runcard.operations.signatures.anchor import anchor  # noqa: PLC0415
    from runcard.operations.signatures.time_authority import open_source  # noqa: PLC0415

    if proof is not None:
        if tsa is not None or request is not None or response is not None:
            raise UsageError(
                "--proof excludes --tsa, --request and --response", hint="anchor the store first"
            )
        return _write_proof(store, proof, output, as_json=as_json)
    if output is not None:
        raise UsageError("--output needs --proof", hint="name the record: --proof RECORD")
    source = open_source(tsa=tsa, request=request, response=response, tsa_certs=tsa_certs)
    made = anchor(store, source)
    if as_json:
        say_json(made.to_dict())
    else:
        _show(made)
    return _warn(made)


def _show(made: "AnchorResult") -> None:
    leaves = f"{made.size:,} head{'' if made.size == 1 else 's'}"
    if made.accepted is not None:
        say_done(f"{made.path}: {leaves}, {describe(made.accepted)}")
        return
    say_done(f"{made.path}: {leaves}; request written to {made.request}")
    show_next_step(made.request or "", f"runcard anchor {shlex.quote(made.store)}")


def _warn(made: "AnchorResult") -> int:
    for warning in made.warnings:
        complain("Warning", warning)
    return ExitCode.WARNINGS if made.warnings else ExitCode.OK


def _write_proof(store: str, record: str, output: str | None, *, as_json: bool) -> int:
    from runcard.operations.signatures.anchor_proof import write_proof  # noqa: PLC0415

    written = write_proof(store, record, output)
    if as_json:
        say_json(written.to_dict())
    else:
        say_done(f"{written.path}: proof by the anchor {written.anchor}, {written.size:,} bytes")
    return ExitCode.OK
