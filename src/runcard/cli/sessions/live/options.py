"""The options that name an open session and an agent of it."""

import click

from runcard.cli.options import PATH, TEXT

session_option = click.option(
    "--session",
    "session_id",
    metavar="ID",
    type=TEXT,
    help="The session. Default: that of RUNCARD_SESSION_DIR.",
)
artifacts_option = click.option(
    "--artifacts", metavar="DIR", type=PATH, help="The store. Default: the setting `artifacts.dir`."
)
instance_option = click.option(
    "--instance",
    metavar="NAME",
    type=TEXT,
    help="The agent, by id or name. Default: RUNCARD_INSTANCE, or the only one.",
)
