"""Options that the commands about plans share, and what is made of them before a command is called."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from runcard.cli.options import PATH, json_option, progress_option

_METHOD_TYPES = ("instance", "class")


def _agents(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    from runcard.plans.agents import AGENTS  # noqa: PLC0415

    return [name for name in AGENTS if name.startswith(begun)]


agent_argument = click.argument("agent", metavar="AGENT", shell_complete=_agents)
agents_argument = click.argument(
    "agents", nargs=-1, required=True, metavar="AGENT...", shell_complete=_agents
)
sources_argument = click.argument("sources", nargs=-1, required=True, metavar="SRC...", type=PATH)
plans_argument = click.argument("paths", nargs=-1, required=True, metavar="PLAN|SRC...", type=PATH)
root_option = click.option(
    "--root",
    metavar="DIR",
    type=PATH,
    help="The project; by default the nearest directory above with .git or a Gemfile.",
)
Command = Callable[..., int]


def target_options(
    *,
    class_about: str = "The class of the method.",
    method_about: str = "The method, where a source has plans for several.",
    type_about: str = "The type of the method.",
    needs_method: bool = False,
) -> Callable[[Command], Command]:
    """Name one of several methods of a source; the command gets them as `asked`."""

    def decorated(command: Command) -> Command:
        @click.option("--class", "class_name", metavar="NAME", help=class_about)
        @click.option("--method", metavar="NAME", required=needs_method, help=method_about)
        @click.option("--type", "method_type", type=click.Choice(_METHOD_TYPES), help=type_about)
        @wraps(command)
        def call(*, class_name: str | None, method: str | None, method_type: str | None, **given: Any) -> int:  # noqa: ANN401 - as click has them
            from runcard.plans.plan_files import Asked  # noqa: PLC0415

            return command(asked=Asked(class_name, method, method_type), **given)

        return call

    return decorated


def many_options(what: str, key: str | None, *, with_progress: bool = True) -> Callable[[Command], Command]:
    """`--json` and `--progress` of a command about many paths; it gets them as `many`."""

    def decorated(command: Command) -> Command:
        @wraps(command)
        def call(*, as_json: bool, shows_progress: bool = False, **given: Any) -> int:  # noqa: ANN401 - as click has them
            from runcard.cli.many import Many  # noqa: PLC0415

            return command(many=Many(what, key, as_json=as_json, shows_progress=shows_progress), **given)

        return json_option(progress_option(call) if with_progress else call)

    return decorated
