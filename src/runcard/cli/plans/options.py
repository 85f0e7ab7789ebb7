"""Options that the commands about plans share."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from runcard.cli.options import PATH, json_option, progress_option

_METHOD_TYPES = ("instance", "class")


def agent_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    from runcard.plans.agents import AGENTS  # noqa: PLC0415

    return [name for name in AGENTS if name.startswith(incomplete)]


agent_argument = click.argument("agent", metavar="AGENT", shell_complete=agent_names)
sources_argument = click.argument("sources", nargs=-1, required=True, metavar="SRC...", type=PATH)
plans_argument = click.argument("paths", nargs=-1, required=True, metavar="PLAN|SRC...", type=PATH)
root_option = click.option(
    "--root",
    metavar="DIR",
    type=PATH,
    help="The project (default: the nearest directory above with .git or a Gemfile).",
)
coverage_option = click.option(
    "--coverage",
    metavar="FILE",
    type=PATH,
    help="A coverage report with branches: coverage/.resultset.json of SimpleCov, or Ruby's Coverage as JSON.",
)
annotations_option = click.option(
    "--annotations",
    type=click.Choice(("github",)),
    help="Print what is missing as annotations of a pull request.",
)
Command = Callable[..., int]


def target_options(
    *,
    class_about: str = "The class of the method.",
    method_about: str = "The method, if a source has several plans.",
    type_about: str = "The type of the method.",
) -> Callable[[Command], Command]:
    """`--class`, `--method` and `--type`; the command gets them as `method_ref`."""

    def decorated(command: Command) -> Command:
        @click.option("--class", "class_name", metavar="NAME", help=class_about)
        @click.option("--method", metavar="NAME", help=method_about)
        @click.option("--type", "method_type", type=click.Choice(_METHOD_TYPES), help=type_about)
        @wraps(command)
        def call(
            *,
            class_name: str | None,
            method: str | None,
            method_type: str | None,
            **others: Any,  # noqa: ANN401 - as click passes them
        ) -> int:
            from runcard.plans.plan_files import MethodRef  # noqa: PLC0415

            return command(method_ref=MethodRef(class_name, method, method_type), **others)

        return call

    return decorated


def many_options(unit: str, key: str | None, *, with_progress: bool = True) -> Callable[[Command], Command]:
    """`--json` and `--progress` of a command about many paths; the command gets them as `batch`."""

    def decorated(command: Command) -> Command:
        @wraps(command)
        def call(*, as_json: bool, shows_progress: bool = False, **others: Any) -> int:  # noqa: ANN401 - as click passes them
            from runcard.cli.batch import Batch  # noqa: PLC0415

            return command(batch=Batch(unit, key, as_json=as_json, shows_progress=shows_progress), **others)

        return json_option(progress_option(call) if with_progress else call)

    return decorated
