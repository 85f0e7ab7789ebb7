"""runcard config trust"""

import click

from runcard.cli.options import PATH, json_option


@click.command("trust", short_help="Let the project's file set anything.")
@click.argument("path", metavar="[PATH]", required=False, type=PATH)
@click.option("--revoke", is_flag=True, help="Trust the file no longer.")
@click.option("--list", "show_list", is_flag=True, help="List the trusted files.")
@json_option
def command(path: str | None, revoke: bool, show_list: bool, as_json: bool) -> int:
    """Trust the settings file of a project, so that it may set anything.

    PATH is a runcard.toml, a pyproject.toml or their folder; without it, the file that counts here. It prints what the
    file sets that only a trusted file may set: read it. The file's path and content are remembered for you alone, so an
    edited file must be trusted again.

    Exit codes: 0 done, 1 there is no such file.
    """
    from runcard.cli.printing import say, say_json  # noqa: PLC0415
    from runcard.errors import UsageError  # noqa: PLC0415

    if show_list and (revoke or path is not None):
        raise UsageError("--list takes neither a path nor --revoke", hint="leave the others out")
    if show_list:
        from runcard.settings.trust import trusted_files  # noqa: PLC0415

        files = trusted_files()
        if as_json:
            say_json({"files": [file._asdict() for file in files]})
        for file in files if not as_json else ():
            say(file.path)
    elif revoke:
        from runcard.operations.checks.config_trust import revoke_trust  # noqa: PLC0415

        place = revoke_trust(path)
        say_json({"path": place, "trusted": False}) if as_json else say(f"{place} is not trusted any more")
    else:
        _trust(path, as_json=as_json)
    return 0


def _trust(path: str | None, *, as_json: bool) -> None:
    from runcard.cli.printing import say, say_json  # noqa: PLC0415
    from runcard.operations.checks.config_trust import shown, trust_file  # noqa: PLC0415

    done = trust_file(path)
    if as_json:
        say_json(done.to_dict())
        return
    say(f"{done.file.path} is trusted" if done.is_new else f"{done.file.path} was trusted already")
    for setting, found in done.allowed:
        say(f"  {setting.key} = {shown(setting, found)}")
    if not done.allowed:
        say("  it sets nothing that needs trust")
