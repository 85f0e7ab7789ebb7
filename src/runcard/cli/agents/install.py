"""runcard install"""

import click

from runcard.cli.agents.setup_options import named_parts, setup_options, show_and_write
from runcard.errors import UsageError


@click.command("install")
@setup_options
@click.option("--allow-write", is_flag=True, help="Let agents also record through the MCP server.")
def command(
    tools: tuple[str, ...],
    hooks: bool,
    mcp: bool,
    scope: str,
    allow_write: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Let agent tools record themselves: add hooks and the MCP server of runcard to their settings.

    TOOL is claude-code, codex, gemini, opencode or cursor. Hooks import each session in the background, as `runcard import` would do it
    in the folder of the session. The MCP server lets agents search and verify records.

    Shows the difference first, and asks. Comments and the order of settings stay. `runcard uninstall` undoes it.

    Exit codes: 0 done, or nothing to do; 1 not written; 64 confirmation needed: pass --yes.
    """
    from runcard.operations.agents.install import plan_install  # noqa: PLC0415

    if allow_write and hooks and not mcp:
        raise UsageError("--allow-write is for the MCP server", hint="pass --mcp, too, or leave it out")
    plans = [
        plan_install(
            tool,
            parts=named_parts(hooks=hooks, mcp=mcp),
            scope="user" if scope == "user" else "project",
            allow_write=allow_write,
        )
        for tool in dict.fromkeys(tools)
    ]
    titles = " or ".join(plan.title for plan in plans)
    use = "ask it for its records" if mcp and not hooks else "`runcard ls` lists it when it has answered"
    return show_and_write(
        plans,
        dry_run=dry_run,
        yes=yes,
        as_json=as_json,
        none="already installed",
        done="installed in",
        next_step=f"Next: start a new session of {titles}; {use}.",
    )
