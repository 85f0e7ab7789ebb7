"""runcard session event"""

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import TEXT
from runcard.cli.sessions.live.options import artifacts_option, session_option
from runcard.errors import UsageError


@click.command("event")
@click.argument("name", metavar="NAME", type=TEXT)
@session_option
@artifacts_option
@click.option("--instance", metavar="NAME", type=TEXT, help="The agent that it is about, by id or name.")
@click.option(
    "--payload", metavar="JSON", type=TEXT, help="An object with its facts: JSON, @FILE or - for stdin."
)
def command(
    name: str, session_id: str | None, artifacts: str | None, instance: str | None, payload: str | None
) -> int:
    """Write the event NAME to the journal of a session; secrets in it are masked.

    Exit codes: 0 written, 1 no such session, or it is closed, 64 wrong arguments.
    """
    from runcard.operations.sessions.shell_session import join_session, read_json  # noqa: PLC0415

    data = {} if payload is None else read_json(payload, "the payload")
    if not isinstance(data, dict):
        raise UsageError("the payload is not an object", hint='pass JSON such as {"page": 3}')
    session = join_session(session_id, artifacts)
    target = session if instance is None else session.instance(instance)
    target.event(name, **data)
    return ExitCode.OK
