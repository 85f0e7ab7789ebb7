"""Options that several commands share."""

import click

from runcard.documents.kinds import KINDS

kind_option = click.option(
    "--kind",
    type=click.Choice(sorted(KINDS)),
    help="Take it as this kind of document instead of telling it by its content.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
