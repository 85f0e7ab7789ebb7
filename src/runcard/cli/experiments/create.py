"""runcard experiment create"""

import click

from runcard.cli.exit_codes import ExitCode
from runcard.cli.options import PATH, TEXT, json_option
from runcard.cli.printing import say, say_json


@click.command("create")
@click.argument("name", metavar="NAME")
@click.option("--description", metavar="TEXT", type=TEXT, help="What it is about, in one sentence.")
@click.option(
    "--config",
    metavar="FILE",
    type=PATH,
    help="Copy the configuration from this JSON, YAML or TOML file.",
)
@json_option
def command(name: str, description: str | None, config: str | None, as_json: bool) -> int:
    """Create experiments/NAME with a config.yaml, a README.md and folders for data and outputs, and print its path.

    `runcard run --experiment NAME` then reads config.yaml, takes the files in data as inputs, and writes to outputs.
    In a folder that exists already, only missing files are created; an existing experiment is not changed.

    Exit codes: 0 created, 1 it exists, or cannot be created.
    """
    from runcard.operations.experiments.create import create_experiment  # noqa: PLC0415

    made = create_experiment(name, description=description, config=config)
    if as_json:
        say_json({"name": made.name, "path": made.path, "experiment_id": made.experiment_id})
    else:
        say(made.path)
    return ExitCode.OK
