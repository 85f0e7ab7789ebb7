"""runcard uninstall"""

import click

from runcard.cli.agents.setup_options import named_parts, setup_options, show_and_write


@click.command("uninstall")
@setup_options
def command(
    tools: tuple[str, ...], hooks: bool, mcp: bool, scope: str, dry_run: bool, yes: bool, as_json: bool
) -> int:
    """Remove what `runcard install` added to the settings of agent tools.

    A file that nothing else has changed since is restored byte for byte; from another one, only what runcard added is removed.
    Records stay.

    Exit codes: 0 done, or nothing to do; 1 not written; 64 confirmation needed: pass --yes.
    """
    from runcard.operations.agents.install import plan_uninstall  # noqa: PLC0415

    parts = named_parts(hooks=hooks, mcp=mcp)
    plans = [
        plan_uninstall(tool, parts=parts, scope="user" if scope == "user" else "project")
        for tool in dict.fromkeys(tools)
    ]
    return show_and_write(
        plans, dry_run=dry_run, yes=yes, as_json=as_json, none="not installed here", done="removed from"
    )
