"""runcard completion"""

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

_SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command("completion")
@click.argument("shell", metavar="SHELL", type=click.Choice(list(_SHELLS)))
def command(shell: str) -> int:
    """Print the script that completes commands, options and files in SHELL: bash, zsh or fish.

    To install it:

    \b
    bash:  echo 'eval "$(runcard completion bash)"' >> ~/.bashrc
    zsh:   echo 'eval "$(runcard completion zsh)"' >> ~/.zshrc
    fish:  runcard completion fish > ~/.config/fish/completions/runcard.fish
    """
    from runcard.cli.app import root  # noqa: PLC0415

    click.echo(_SHELLS[shell](root, {}, "runcard", "_RUNCARD_COMPLETE").source())
    return 0
