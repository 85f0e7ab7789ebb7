"""runcard experiment create"""

import click

from runcard.cli.options import PATH, TEXT, json_option


@click.command("create", short_help="Make the folder of an experiment.")
@click.argument("name", metavar="NAME")
@click.option("--description", metavar="TEXT", type=TEXT, help="What it is about, in a sentence.")
@click.option(
    "--config",
    metavar="FILE",
    type=PATH,
    help="Take the configuration from here: JSON, YAML or TOML.",
)
@json_option
def command(name: str, description: str | None, config: str | None, as_json: bool) -> int:
    """Make experiments/NAME with a config.yaml, a README.md and folders for data and outputs.

    `runcard run --experiment NAME` then takes its configuration from config.yaml and its inputs from data, and writes
    to outputs. A folder that is there already gets what it lacks; an experiment that exists is never touched.

    Exit codes: 0 made, 1 it exists, or cannot be made.
    """
    from runcard.cli.printing import say, say_json  # noqa: PLC0415
    from runcard.errors import ExitCode  # noqa: PLC0415
    from runcard.operations.experiments.create import create  # noqa: PLC0415

    made = create(name, description=description, config=config)
    if as_json:
        say_json({"name": made.name, "path": made.path, "experiment_id": made.experiment_id})
    else:
        say(made.path)
    return ExitCode.OK
