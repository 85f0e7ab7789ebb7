"""runcard session instance"""

from typing import Any

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import PATH, TEXT, json_option
from runcard.cli.printing import say, say_json
from runcard.cli.sessions.live.options import artifacts_option, session_option


@click.command("instance")
@click.argument("name", metavar="NAME", type=TEXT)
@session_option
@artifacts_option
@click.option("--role", metavar="ROLE", type=TEXT, help="Its role in the team.")
@click.option("--model", metavar="MODEL", type=TEXT, help="The model that it uses.")
@click.option("--provider", metavar="NAME", type=TEXT, help="Who serves the model: decides between prices.")
@click.option("--parent", metavar="NAME", type=TEXT, help="The agent that started it, by id or name.")
@click.option("--workspace", metavar="DIR", type=PATH, help="The folder it works in: copied at the end.")
@click.option("--output", metavar="FILE", type=PATH, help="The file with what it prints: copied at the end.")
@click.option("--id", "instance_id", metavar="ID", type=TEXT, help="Its id. Default: a new one.")
@json_option
def command(
    name: str,
    session_id: str | None,
    artifacts: str | None,
    as_json: bool,
    **facts: Any,  # noqa: ANN401 - the other options
) -> int:
    """Record that the agent NAME starts, and print its id.

    `runcard session finish --instance` ends it. RUNCARD_INSTANCE with its id is what other commands, and runs recorded
    inside, find it by.

    Exit codes: 0 started, 1 no such session, or it is closed, 64 wrong arguments.
    """
    from runcard.operations.sessions.shell_session import join_session  # noqa: PLC0415

    session = join_session(session_id, artifacts)
    agent = session.start_instance(name, **facts)
    if as_json:
        say_json({"instance_id": agent.id, "name": agent.name, "team_session_id": session.id})
    else:
        say(agent.id)
    return ExitCode.OK
