"""runcard timestamp"""

import shlex
from typing import TYPE_CHECKING

import click

from runcard.cli.options import RECORD, json_option
from runcard.cli.printing import say_done
from runcard.cli.signatures.timestamp_options import describe, show_next_step, timestamp_options

if TYPE_CHECKING:
    from runcard.operations.signatures.timestamp import TimestampResult


@click.command("timestamp")
@click.argument("records", nargs=-1, required=True, metavar="RECORD...", type=RECORD)
@timestamp_options
@json_option
def command(
    records: tuple[str, ...],
    tsa: str | None,
    request: str | None,
    response: str | None,
    tsa_certs: str | None,
    as_json: bool,
) -> int:
    """Let a time-stamping authority (RFC 3161) confirm that records exist now.

    RECORD is a path, an id, a prefix of an id, a name, or @latest (@latest~1 is the one before). The authority gets a digest:
    of the record's signatures, or of its metadata document if it is not signed. Sign first, to prove when a record was
    signed. The reply is added to metadata.json.tsr in the record. For many records see `runcard anchor`.

    Without network: write the request to a file, let somebody send it, and add the reply.

    Exit codes: 0 time-stamped or the request is written, 1 not.
    """
    from runcard.cli.batch import Batch  # noqa: PLC0415
    from runcard.errors import UsageError  # noqa: PLC0415
    from runcard.operations.signatures.time_authority import open_source  # noqa: PLC0415
    from runcard.operations.signatures.timestamp import timestamp  # noqa: PLC0415

    if len(records) > 1 and (request is not None or response is not None):
        raise UsageError(
            "a request is about one record",
            hint="name one; many are stamped at once by an anchor of their store: runcard anchor --help",
        )
    source = open_source(tsa=tsa, request=request, response=response, tsa_certs=tsa_certs)
    batch = Batch("records", None, as_json=as_json, json_list="records")
    batch.each(records, lambda record: timestamp(record, source), _show)
    return batch.finish()


def _show(_: str, stamped: "TimestampResult") -> None:
    if stamped.accepted is None:
        say_done(f"{stamped.path}: request written to {stamped.request}")
        show_next_step(stamped.request or "", f"runcard timestamp {shlex.quote(stamped.path)}")
    else:
        say_done(f"{stamped.path}: {describe(stamped.accepted)}")
