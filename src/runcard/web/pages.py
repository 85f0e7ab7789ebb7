"""Making pages: templates, with every value escaped, and the texts for people in them."""

import os
import re
from datetime import UTC, datetime
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse

from runcard.documents.times import parse_time
from runcard.files import printable
from runcard.version import __version__
from runcard.views.formats import byte_size, counted, duration, money, money_at_least
from runcard.web.file_preview import markdown_html
from runcard.web.record_address import record_url, row_url

if TYPE_CHECKING:
    from starlette.requests import Request

STATIC = os.path.join(os.path.dirname(__file__), "static")
_TEMPLATES = os.path.join(os.path.dirname(__file__), "templates")
_LONGEST_MESSAGE = 20_000  # characters
_CENT, _HUNDREDTH_OF_CENT = Decimal("0.01"), Decimal("0.0001")
_MASKED = re.compile(r"(\[masked:[a-z0-9-]{1,60}\])")
_LINES = {ord("\n"): None, ord("\t"): None}
_METHODS = frozenset({"get", "items", "keys", "values"})
_UNITS = ((365 * 86400, "year"), (30 * 86400, "month"), (86400, "day"), (3600, "hour"), (60, "minute"))


def render(request: "Request", template: str, status: int = 200, **values: Any) -> HTMLResponse:  # noqa: ANN401 - any value
    """A page."""
    text = _environment().get_template(template).render(request=request, here=request.url.path, **values)
    return HTMLResponse(text, status)


def render_part(request: "Request", template: str, **values: Any) -> HTMLResponse:  # noqa: ANN401 - see above
    """A part of a page that htmx asked for; as a page of its own for a browser without scripts."""
    if request.headers.get("hx-request") == "true":
        return render(request, template, **values)
    return render(request, "alone.html", part=template, **values)


class PageEnvironment(Environment):
    """Templates in which a field that a document does not have is None, as everywhere; an unknown variable is an error."""

    def getattr(self, obj: Any, attribute: str) -> Any:  # noqa: ANN401 - any value of a template
        if isinstance(obj, dict) and attribute not in _METHODS:
            return obj.get(attribute)
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:  # noqa: ANN401 - see above
        return obj.get(argument) if isinstance(obj, dict) else super().getitem(obj, argument)


@cache
def _environment() -> Environment:
    environment = PageEnvironment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters |= {
        "money": money_or_unknown,
        "bytes": byte_size,
        "count": count_or_unknown,
        "duration": duration,
        "time": time_element,
        "ago": ago,
        "counted": counted,
        "zip": zip,
        "code": code_marks,
        "status_class": status_class,
        "markdown": message_html,
        "masked": masked_marks,
    }
    environment.globals |= {"version": __version__, "record_url": record_url, "row_url": row_url}
    return environment


def _shown(value: Any) -> Any:  # noqa: ANN401 - any value of a template
    """A value as a page shows it: control characters and those that turn the direction of a text are escaped."""
    if value is None:
        return ""
    if isinstance(value, Markup) or not isinstance(value, str) or value.isprintable():
        return value
    if value.translate(_LINES).isprintable():
        return value
    return "".join(one if one in "\n\t" else printable(one) for one in value)


def money_or_unknown(
    cost: float | Decimal | None, known: float | Decimal | None = None, *, at_least: bool = False
) -> str:
    """Dollars; `≥` for a lower bound, `unknown` where nothing is known. Never $0 for an unknown cost."""
    if cost is not None and not at_least:
        return money(_rounded(cost, ROUND_HALF_UP))
    amount = cost if cost is not None else known
    if amount is None or (cost is None and not amount):
        return "unknown"
    return money_at_least(_rounded(amount, ROUND_DOWN)).replace(" ", "\N{NO-BREAK SPACE}")


def _rounded(amount: float | Decimal, rounding: str) -> float:
    """From a cent on, a page shows four decimals: millionths of a dollar are in the JSON and the CSV."""
    exact = Decimal(str(amount))
    return float(exact if exact < _CENT else exact.quantize(_HUNDREDTH_OF_CENT, rounding))


def count_or_unknown(count: int | None, known: int | None = None, *, at_least: bool = False) -> str:
    """A count; `≥` for a lower bound, as for the known part of one that is unknown as a whole."""
    if count is None:
        return f"≥\N{NO-BREAK SPACE}{known:,}" if known else "unknown"
    return f"≥\N{NO-BREAK SPACE}{count:,}" if at_least else f"{count:,}"


def time_element(text: str | None, form: str = "%Y-%m-%d %H:%M") -> Markup:
    """A time in the local time zone, with the exact one for machines and in a tooltip."""
    moment = parse_time(text) if text else None
    if moment is None:
        return Markup('<span class="unknown">{}</span>').format(_shown(text) if text else "unknown")
    local = moment.astimezone()
    exact = f"{local:%Y-%m-%d %H:%M:%S %Z}"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(text, exact, f"{local:{form}}")


def ago(text: str | None) -> Markup:
    """How long ago a time was, with the time itself in a tooltip."""
    moment = parse_time(text) if text else None
    if moment is None:
        return time_element(text)
    seconds = (datetime.now(UTC) - moment).total_seconds()
    words = "just now"
    if seconds < -60:
        return time_element(text)
    for size, unit in _UNITS:
        if seconds >= size:
            words = f"{counted(int(seconds // size), unit)} ago"
            break
    exact = f"{moment.astimezone():%Y-%m-%d %H:%M:%S %Z}"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(text, exact, words)


def code_marks(text: str) -> Markup:
    """A message in which commands between backticks are marked up."""
    parts = str(_shown(text)).split("`")
    if len(parts) % 2 == 0:
        return escape(_shown(text))
    marked = (
        Markup("<code>{}</code>").format(part) if at % 2 else escape(part) for at, part in enumerate(parts)
    )
    return Markup("").join(marked)


def message_html(text: str) -> Markup:
    """What an agent was told or said: as Markdown if it is not too long, which is cleaned of everything that runs."""
    if len(text) > _LONGEST_MESSAGE:
        return Markup('<div class="prose">{}</div>').format(_shown(text))
    return Markup(markdown_html(_shown(text), breaks=True))  # noqa: S704 - it was cleaned


def masked_marks(text: str) -> Markup:
    """A text in which what stands for a masked secret is marked up."""
    parts = _MASKED.split(str(_shown(text)))
    marked = (
        Markup("<mark>{}</mark>").format(part) if at % 2 else escape(part) for at, part in enumerate(parts)
    )
    return Markup("").join(marked)


def status_class(status: str | None) -> str:
    """The kind of a status, for its color. The word itself is always shown."""
    if status in {"completed", "fresh"}:
        return "good"
    if status in {"failed", "error", "timeout", "invalid", "unreadable"}:
        return "bad"
    return "warn" if status in {"interrupted", "terminated", "stale"} else "plain"
