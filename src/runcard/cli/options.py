"""Options that several commands share."""

import re
from datetime import timedelta
from typing import Any

import click

from runcard.documents.kinds import KINDS

kind_option = click.option(
    "--kind",
    type=click.Choice(sorted(KINDS)),
    help="Take it as this kind of document instead of telling it by its content.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Age(click.ParamType[timedelta]):
    """A span of time: `30d`, `12h`, `2w`."""

    name = "AGE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:  # noqa: ANN401
        if isinstance(value, timedelta):
            return value
        match = re.fullmatch(r"([0-9]{1,6})([smhdw])", str(value).strip())
        if match is None:
            self.fail(f"'{value}' is no age: write 30d, 12h or 2w", param, ctx)
        return timedelta(**{_UNITS[match[2]]: int(match[1])})


class Size(click.ParamType[int]):
    """A number of bytes: `1000`, `500 MB`, `4 GiB`."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401
        from runcard.settings.forms import SIZE, NotAllowedError  # noqa: PLC0415

        try:
            return SIZE.from_text(str(value))
        except NotAllowedError:
            self.fail(f"'{value}' is no size: write {SIZE.allowed}", param, ctx)


outputs_option = click.option(
    "--outputs", metavar="DIR", help="The store of runs; the setting `outputs` unless given."
)
artifacts_option = click.option(
    "--artifacts", metavar="DIR", help="The store of sessions; the setting `artifacts.dir` unless given."
)
