"""runcard session start"""

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import TEXT, json_option
from runcard.cli.printing import complain, say, say_json
from runcard.cli.sessions.live.options import artifacts_option


@click.command("start")
@click.argument("session_id", metavar="ID", type=TEXT)
@artifacts_option
@click.option("--label", "labels", metavar="KEY=VALUE", multiple=True, type=TEXT, help="Label the session.")
@click.option("--export", is_flag=True, help="Print the variables for a shell, instead of the path.")
@json_option
def command(
    session_id: str, artifacts: str | None, labels: tuple[str, ...], export: bool, as_json: bool
) -> int:
    """Start the session ID, and print the directory in which it is recorded.

    It is open until `runcard session finish`, or `runcard close ID`. `runcard show ID` shows it so far. With --export the
    variables are printed that other commands, and runs recorded inside, find it by.

    Exit codes: 0 started, 1 a session with this id is open, or it cannot be created, 64 no valid id.
    """
    import shlex  # noqa: PLC0415

    from runcard.errors import UsageError  # noqa: PLC0415
    from runcard.files import printable  # noqa: PLC0415
    from runcard.operations.sessions.shell_session import is_unproven, start_session  # noqa: PLC0415

    pairs = [label.partition("=") for label in labels]
    if wrong := next(
        (label for label, pair in zip(labels, pairs, strict=True) if not pair[0] or not pair[1]), None
    ):
        raise UsageError(f"{wrong!r} is not a label", hint="write KEY=VALUE")
    link = start_session(session_id, artifacts=artifacts, labels={key: value for key, _, value in pairs})
    if is_unproven(link):
        complain(
            "Warning",
            "there is no key of yours in the state folder, and none can be made: the files of agents will be left out",
            hint=f"to store the session with them: runcard close --trust {shlex.quote(session_id)}",
        )
    if as_json:
        say_json({"team_session_id": link.session_id, "path": printable(link.path), "environ": link.environ})
    elif export:
        for name, value in link.environ.items():
            say(f"export {name}={shlex.quote(value)}")
    else:
        say(printable(link.path))
    return ExitCode.OK
