"""runcard config trust"""

import click

from runcard.cli.options import PATH, json_option
from runcard.cli.printing import say, say_done, say_json
from runcard.errors import UsageError

_STATES = {"trusted": "", "changed": " (changed since: not trusted)", "gone": " (no longer there)"}


@click.command("trust")
@click.argument("path", metavar="[PATH]", required=False, type=PATH)
@click.option("--revoke", is_flag=True, help="No longer trust the file.")
@click.option("--list", "show_list", is_flag=True, help="List the trusted files.")
@json_option
def command(path: str | None, revoke: bool, show_list: bool, as_json: bool) -> int:
    """Trust the settings file of a project, so that it may set anything.

    PATH is a runcard.toml, a pyproject.toml or their folder; by default the file in effect here. Prints the settings
    that only a trusted file may set: read them. Trust is yours alone, and ends when the file is edited.

    Exit codes: 0 done, 1 no such file.
    """
    if show_list and (revoke or path is not None):
        raise UsageError("--list takes neither PATH nor --revoke", hint="leave the others out")
    if show_list:
        _list(as_json=as_json)
    elif revoke:
        from runcard.operations.checks.config_trust import revoke_trust  # noqa: PLC0415

        place = revoke_trust(path)
        say_json({"path": place, "trusted": False}) if as_json else say_done(f"{place} is no longer trusted")
    else:
        _trust(path, as_json=as_json)
    return 0


def _list(*, as_json: bool) -> None:
    from runcard.operations.checks.config_trust import list_trust  # noqa: PLC0415

    files = list_trust()
    if as_json:
        say_json({"files": [{**file._asdict(), "state": state} for file, state in files]})
        return
    for file, state in files:
        say(f"{file.path}{_STATES[state]}")


def _trust(path: str | None, *, as_json: bool) -> None:
    from runcard.operations.checks.config_trust import trust_file, value_text  # noqa: PLC0415

    done = trust_file(path)
    if as_json:
        say_json(done.to_dict())
        return
    say_done(f"{done.file.path} is now trusted" if done.is_new else f"{done.file.path} was already trusted")
    for setting, value in done.allowed:
        say_done(f"  {setting.key} = {value_text(setting, value)}")
    if not done.allowed:
        say_done("  it sets nothing that needs trust")
