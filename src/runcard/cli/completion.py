"""runcard completion"""

import click

_SHELLS = ("bash", "zsh", "fish")


@click.command("completion", short_help="Print the script that completes commands in your shell.")
@click.argument("shell", type=click.Choice(_SHELLS))
def command(shell: str) -> int:
    """Print the script that completes commands, options and files in SHELL.

    \b
    bash:  echo 'eval "$(runcard completion bash)"' >> ~/.bashrc
    zsh:   echo 'eval "$(runcard completion zsh)"' >> ~/.zshrc
    fish:  runcard completion fish > ~/.config/fish/completions/runcard.fish
    """
    from click.shell_completion import get_completion_class  # noqa: PLC0415

    from runcard.cli.app import root  # noqa: PLC0415

    completer = get_completion_class(shell)
    if completer is not None:
        click.echo(completer(root, {}, "runcard", "_RUNCARD_COMPLETE").source())
    return 0
