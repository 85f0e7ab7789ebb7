"""runcard keygen"""

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import TEXT, json_option
from runcard.cli.printing import say, say_json, say_note


@click.command("keygen")
@click.option("--output", required=True, metavar="FILE", type=click.Path(), help="File for the private key.")
@click.option("--name", metavar="NAME", type=TEXT, help="Whose key it is. Default: user@host.")
@json_option
def command(output: str, name: str | None, as_json: bool) -> int:
    """Make a key to sign records with.

    The private key is written to FILE, for you alone to read; the public key to FILE.pub. The line that is printed to stdout is
    for the file of signers of those who verify your records: `>> signers` adds it. A key that you use with SSH works as well: see `runcard sign --ssh`.

    Exit codes: 0 made, 1 not made.
    """
    from runcard.operations.signatures.keygen import keygen  # noqa: PLC0415

    made = keygen(output, name=name)
    if as_json:
        say_json(made.to_dict())
    else:
        say_note(f"{made.path}: private key; keep it secret, and make a backup")
        say_note(f"{made.public_path}: public key {made.public_key.fingerprint}")
        say_note("the line for the file of signers of those who verify your records:")
        say(made.signers_line)
    return ExitCode.OK
