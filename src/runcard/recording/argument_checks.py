"""Check the arguments of a recording, and copy them as plain data. A wrong argument raises UsageError at once."""

import re
from collections.abc import Mapping
from math import isfinite
from sys import maxsize
from typing import TYPE_CHECKING, Any

from runcard.documents.exact_sums import plain_number
from runcard.documents.run.application import version_key
from runcard.encoding import COMPACT, JsonObject, Limits, decode_json, encode_json
from runcard.errors import UsageError
from runcard.masking.marks import Masked
from runcard.recording.plain_data import plain_data

if TYPE_CHECKING:
    from runcard.accounting import Prices

RELATIONS = ("parent", "resumes", "derived-from", "plan", "session", "commit", "run")

_APPLICATION = "[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?"
_VERSION = "[!-~]{1,200}"
_STATUSES = ("completed", "failed", "interrupted")
_HEX_DIGEST = "[0-9a-f]{64}"
_MAX_COST = 10**12  # dollars
_MAX_SECONDS = 10**9
_LONGEST_METRIC = 200  # characters of its name
_ANY_SIZE = Limits(size=maxsize)


def plain_copy(value: JsonObject) -> JsonObject:
    """A copy of the caller's data as it is now; raises EncodingError when it is not plain JSON data."""
    copy: JsonObject = decode_json(encode_json(value, COMPACT), _ANY_SIZE)  # too much data is cut later
    return copy


def check_config(config: object) -> Masked[JsonObject]:
    """A configuration that a document can hold; secrets that have a type of their own are masked."""
    plain = plain_data(config)
    if not isinstance(plain.value, dict):
        raise UsageError(
            f"config is a {type(config).__name__}",
            hint="pass names with their values: a dict, a dataclass, a model or a Namespace",
        )
    configuration = plain_copy(plain.value)
    for name in ("model", "provider"):
        if not isinstance(configuration.get(name), str | None):
            raise UsageError(f"{name} is {display_value(configuration[name])}", hint="pass a text or None")
    return Masked(configuration, plain.counts)


def check_labels(labels: object) -> JsonObject:
    if not isinstance(labels, Mapping):
        raise UsageError(
            f"labels is a {type(labels).__name__}",
            hint="pass names with their values, such as {'team': 'search'}",
        )
    plain = plain_data({str(key): value for key, value in labels.items()}).value
    return plain_copy({key: value if isinstance(value, str) else str(value) for key, value in plain.items()})


def check_application(name: object, version: object) -> JsonObject | None:
    """The program that generates, and its version where that is given; None where neither is."""
    if name is None and version is None:
        return None
    if not isinstance(name, str) or not re.fullmatch(_APPLICATION, name):
        raise UsageError(
            f"application is {display_value(name)}", hint="pass the name of the program, such as 'persona'"
        )
    if version_key(name) is None:
        raise UsageError(
            f"application {name!r}: the version of this program is recorded anyway",
            hint="name the program that generates",
        )
    if version is not None and not (isinstance(version, str) and re.fullmatch(_VERSION, version)):
        raise UsageError(
            f"the version of {name} is {display_value(version)}", hint="pass a text, such as '0.9.0'"
        )
    return {"name": name, "version": version}


def check_cost(cost: object) -> float | int:
    """Dollars as JSON can hold them."""
    from decimal import Decimal  # noqa: PLC0415 - few calls are given their cost

    amount = cost
    if isinstance(cost, Decimal):  # the limit first: 1e9999999 has ten million digits
        amount = plain_number(cost) if cost.is_finite() and cost <= _MAX_COST else None
    if isinstance(amount, int | float) and not isinstance(amount, bool) and 0 <= amount <= _MAX_COST:
        return amount
    raise UsageError(f"{display_value(str(cost))} is not a cost", hint="pass a number of dollars, 0 or more")


def check_seconds(seconds: object) -> float | int:
    """A time that a call can take."""
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds <= _MAX_SECONDS:
        return seconds
    raise UsageError(
        f"{display_value(str(seconds))} is not a latency", hint="pass a number of seconds, 0 or more"
    )


def check_metric(name: str, value: Any, step: object) -> float | int | None:  # noqa: ANN401 - a number of any library
    """The value of a metric as JSON can hold it, None for one that is not finite; scalars of array libraries are numbers."""
    if len(name) > _LONGEST_METRIC:
        raise UsageError(
            f"the name of a metric has {len(name):,} characters", hint=f"use at most {_LONGEST_METRIC}"
        )
    if step is not None and (not isinstance(step, int) or isinstance(step, bool)):
        raise UsageError(f"step is {display_value(str(step))}", hint="pass a whole number or None")
    number = value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value
    if isinstance(number, bool):
        number = None
    elif isinstance(number, int):
        return int(number)
    elif isinstance(number, float) or type(number).__name__ == "Decimal":
        return float(number) if isfinite(number) else None
    raise UsageError(f"the metric {name} is {display_value(str(value))}", hint="pass a number")


def check_prices(prices: object) -> "Prices | None":
    if prices is None:
        return None
    from runcard.accounting import Prices  # noqa: PLC0415 - most programs pass none

    if not isinstance(prices, Prices):
        raise UsageError(
            f"prices is a {type(prices).__name__}", hint="pass runcard.accounting.Prices.with_file(path)"
        )
    return prices


def check_relation(kind: str, sha256: str | None) -> None:
    if kind not in RELATIONS:
        raise UsageError(f"no such relation: {kind}", hint=f"use one of {', '.join(RELATIONS)}")
    if sha256 is not None and not re.fullmatch(_HEX_DIGEST, sha256):
        raise UsageError(f"{sha256!r} is not a digest", hint="pass 64 lower-case hex digits, without sha256:")


def check_status(status: str) -> None:
    """Check how a run ended."""
    if status not in _STATUSES:
        raise UsageError(f"invalid status {status!r}", hint=f"use one of {', '.join(_STATUSES)}")


def check_text(value: object, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise UsageError(f"{what} is {display_value(str(value))}", hint="pass a text that is not empty")
    return value


def check_optional_text(value: object, what: str) -> None:
    if not isinstance(value, str | None):
        raise UsageError(f"{what} is {display_value(value)}", hint="pass a text or None")


def display_value(value: object) -> str:
    from runcard.documents.findings import display_value as quoted  # noqa: PLC0415 - only for an error

    return quoted(value)
