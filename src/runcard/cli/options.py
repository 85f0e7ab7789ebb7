"""Options that several commands share."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import click

from runcard.cli import command_groups, declare
from runcard.cli.printing import AS_JSON
from runcard.cli.verbosity import set_verbosity
from runcard.documents.kinds import KINDS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

PATH = click.Path(readable=False)  # an unreadable path is an error of the operation, and stops no other path
PATH_OR_DASH = click.Path(readable=False, allow_dash=True)


class RecordName(click.Path):
    """A path, an id, a name or `@latest`; a shell completes all of them."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only for completion

        from runcard.operations.catalog.names import complete_record  # noqa: PLC0415

        names = [CompletionItem(name, help=about) for name, about in complete_record(incomplete)]
        return [*names, *super().shell_complete(ctx, param, incomplete)]


RECORD = RecordName(readable=False)
KIND = click.Choice(sorted(KINDS))


def _remember(context: click.Context, _: click.Parameter, value: bool) -> bool:
    context.meta[AS_JSON] = value
    return value


def click_decorator(parameter: declare.DeclaredParameter) -> "Callable[[Decorated], Decorated]":
    """What click has for a declared parameter; a type is the name of one in this module."""
    settings = dict(parameter.settings)
    if parameter is declare.json_option:
        settings["callback"] = _remember
    if "type" in settings:
        settings["type"] = globals()[settings["type"]]
    return (click.argument if parameter.kind == "argument" else click.option)(*parameter.names, **settings)


def _set_quiet(_: click.Context, __: click.Parameter, value: bool) -> None:
    if value:
        set_verbosity(quiet=True)


def _set_verbose(_: click.Context, __: click.Parameter, value: bool) -> None:
    if value:
        set_verbosity(verbose=True)


def verbosity_options() -> tuple[click.Option, click.Option]:
    """`-q` and `-v`: every command takes them, and `cli.verbosity` has their values."""
    texts = command_groups.OPTIONS
    return (
        click.Option(
            ["-q", "--quiet"],
            is_flag=True,
            expose_value=False,
            callback=_set_quiet,
            help=texts["-q, --quiet"],
        ),
        click.Option(
            ["-v", "--verbose"],
            is_flag=True,
            expose_value=False,
            callback=_set_verbose,
            help=texts["-v, --verbose"],
        ),
    )


Decorated = TypeVar("Decorated", bound=Callable[..., object])

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Age(click.ParamType[timedelta]):
    """A duration: `30d`, `12h`, `2w`."""

    name = "AGE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:  # noqa: ANN401
        if isinstance(value, timedelta):
            return value
        match = re.fullmatch(r"([0-9]{1,6})([smhdw])", str(value).strip())
        if match is None:
            self.fail(f"'{value}' is not an age: write 30d, 12h or 2w", param, ctx)
        return timedelta(**{_UNITS[match[2]]: int(match[1])})


AGE = Age()
WORKER_COUNT = click.IntRange(1, 1024)


class Since(click.ParamType[datetime]):
    """An age or a day: `7d`, `2026-11-01`."""

    name = "WHEN"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:  # noqa: ANN401
        if isinstance(value, datetime):
            return value
        try:
            return datetime.fromisoformat(str(value)).astimezone()
        except (ValueError, OverflowError):
            pass
        try:
            return datetime.now().astimezone() - AGE.convert(value, param, ctx)
        except (click.UsageError, OverflowError):
            self.fail(f"'{value}' is neither an age nor a day: write 7d, 12h or 2026-11-01", param, ctx)


SINCE = Since()


class Size(click.ParamType[int]):
    """A number of bytes: `1000`, `500 MB`, `4 GiB`."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401
        from runcard.settings.value_types import SIZE, NotAllowedError  # noqa: PLC0415

        try:
            return SIZE.from_text(str(value))
        except NotAllowedError:
            self.fail(f"'{value}' is not a size: write {SIZE.allowed}", param, ctx)


class Text(click.ParamType[str]):
    """Text for a document, which must be UTF-8."""

    name = "TEXT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401
        from runcard.files import json_name, printable  # noqa: PLC0415

        if json_name(str(value)).base64 is not None:
            self.fail(f"'{printable(str(value))}' is not UTF-8", param, ctx)
        return str(value)


TEXT = Text()

kind_option = click_decorator(declare.kind_option)
json_option = click_decorator(declare.json_option)
outputs_option = click_decorator(declare.outputs_option)
artifacts_option = click_decorator(declare.artifacts_option)
by_option = click.option("--by", metavar="WHO", type=TEXT, help="Author of the change. Default: user@host.")
dry_run_option = click_decorator(declare.dry_run_option)
yes_option = click.option(
    "--yes", is_flag=True, help="Do not ask for confirmation; required without a terminal."
)
progress_option = click_decorator(declare.progress_option)


def output_option(metavar: str, about: str, **more: Any) -> Callable[[Decorated], Decorated]:  # noqa: ANN401 - as click has them
    """`-o`: where the result goes, which each command explains."""
    return click.option("--output", "-o", metavar=metavar, type=PATH_OR_DASH, help=about, **more)
