"""runcard session usage"""

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import TEXT
from runcard.cli.sessions.live.options import artifacts_option, instance_option, session_option


@click.command("usage")
@click.argument("reply", metavar="REPLY", type=TEXT)
@session_option
@artifacts_option
@instance_option
@click.option("--model", metavar="MODEL", type=TEXT, help="The model, if the reply does not name it.")
@click.option("--provider", metavar="NAME", type=TEXT, help="Who served it: decides between prices.")
@click.option("--cost", metavar="USD", type=float, help="What it cost, if that is known.")
@click.option("--latency", metavar="SECONDS", type=float, help="How long it took.")
def command(
    reply: str,
    session_id: str | None,
    artifacts: str | None,
    instance: str | None,
    model: str | None,
    provider: str | None,
    cost: float | None,
    latency: float | None,
) -> int:
    """Record a call of a model by an agent: REPLY is the vendor's reply or its usage, as JSON, @FILE or - for stdin.

    Only its counts and facts are kept, neither prompts nor texts. A reply that was recorded before, by its id, counts once.

    Exit codes: 0 recorded, 1 no such session, or it is closed, 64 no such agent, or no usage in the reply.
    """
    from runcard.operations.sessions.shell_session import agent_of, join_session, read_json  # noqa: PLC0415

    data = read_json(reply, "the reply")
    agent = agent_of(join_session(session_id, artifacts), instance)
    agent.add_usage(data, model=model, provider=provider, cost=cost, latency=latency)
    return ExitCode.OK
