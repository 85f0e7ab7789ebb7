"""runcard schema"""

import click

from runcard.documents.kinds import PUBLISHED


@click.command("schema")
@click.argument("kind", metavar="KIND", type=click.Choice(sorted(PUBLISHED)))
@click.option("--version", metavar="V", help="Version of the format. Default: the latest.")
def command(kind: str, version: str | None) -> int:
    """Print the published JSON Schema of a KIND of document, for editors and other languages.

    KIND is one of anchor, anchor-proof, archive-index, generation, instance, ledger-statement, manifest,
    record-statement, session-spec, team, testplan.

    Exit codes: 0 printed, 64 no such schema.
    """
    from runcard.documents.schema import schema_bytes  # noqa: PLC0415

    click.echo(schema_bytes(kind, version), nl=False)
    return 0
