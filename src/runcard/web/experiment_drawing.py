"""Where the points and lines of an experiment are. A value that a run does not have is not drawn, never taken for zero.

Numbers have a scale; texts have places in the order of their names. A line is interrupted where a value is missing.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

WIDTH, HEIGHT = 1000, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 90, 30, 20, 46
_PAD = 24  # beside the first and the last point
_AXES_TOP, _AXES_SIDE = 44, 90
_TICKS = 5
_MOST_WORDS = 12  # places with a label on an axis of texts
_LONGEST_LABEL = 20
_NEARLY = 1e-9  # a number is round as a float has it
SHADES = 5  # classes of the last axis, for color


class AxisTick(NamedTuple):
    """A label at a place."""

    place: float
    text: str


class ValueScale:
    """From a value to a place between 0 and 1; None for a value that has none."""

    def __init__(self, values: Sequence[Any]) -> None:
        numbers = [float(value) for value in values if _is_number(value)]
        self._has_words = any(isinstance(value, str | bool) for value in values)
        words = sorted({str(value) for value in values if _has_place(value)}) if self._has_words else []
        self._words = {word: index for index, word in enumerate(words)}
        self._low, self._high = min(numbers, default=0.0), max(numbers, default=1.0)

    def place(self, value: Any) -> float | None:  # noqa: ANN401 - any value of a record
        if not _has_place(value):
            return None
        if self._has_words:
            index = self._words.get(str(value))
            last = len(self._words) - 1
            return None if index is None else index / last if last else 0.5
        span = self._high - self._low
        return (float(value) - self._low) / span if span else 0.5

    def ticks(self) -> list[AxisTick]:
        if self._has_words:
            step = -(-len(self._words) // _MOST_WORDS)
            return [AxisTick(self.place(word) or 0.0, _short(word)) for word in list(self._words)[::step]]
        if self._low == self._high:
            return [AxisTick(0.5, f"{self._low:.4g}")]
        span = self._high - self._low
        return [
            AxisTick((value - self._low) / span, f"{value:.6g}")
            for value in _round_values(self._low, self._high)
        ]


def _round_values(low: float, high: float) -> list[float]:
    """A few round numbers between two numbers: steps of 1, 2 or 5 times a power of ten; the two where that gives fewer."""
    raw = (high - low) / _TICKS
    if not math.isfinite(raw) or raw <= 0:
        return [low, high]
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw)
    first, last = math.ceil(low / step - _NEARLY), math.floor(high / step + _NEARLY)
    return [n * step for n in range(first, last + 1)] if 1 <= last - first <= 4 * _TICKS else [low, high]


class ScatterPoint(NamedTuple):
    """A run in a scatter."""

    label: str
    url: str
    x: float
    y: float
    about: str


class Scatter(NamedTuple):
    """Runs as points."""

    points: list[ScatterPoint]
    across: list[AxisTick]
    up: list[AxisTick]
    missing: int  # runs without one of the values


def scatter(runs: Sequence[tuple[str, str, Any, Any]]) -> Scatter:
    """Runs as points: each has a label, an address, and two values."""
    drawn = [run for run in runs if run[2] is not None and run[3] is not None]
    across, up = ValueScale([run[2] for run in drawn]), ValueScale([run[3] for run in drawn])
    points = []
    for label, url, x, y in drawn:
        left, below = across.place(x), up.place(y)
        if left is not None and below is not None:
            points.append(ScatterPoint(label, url, _across(left), _up(below), f"{_value(x)}, {_value(y)}"))
    return Scatter(
        points,
        [AxisTick(_across(tick.place), tick.text) for tick in across.ticks()] if points else [],
        [AxisTick(_up(tick.place), tick.text) for tick in up.ticks()] if points else [],
        len(runs) - len(points),
    )


class ParallelAxis(NamedTuple):
    """An axis, from the top down."""

    name: str
    x: float
    ticks: list[AxisTick]


class RunLines(NamedTuple):
    """A run across the axes, in pieces where a value is missing."""

    label: str
    url: str
    pieces: list[str]  # points of polylines
    dots: list[tuple[float, float]]  # values without a neighbor
    shade: int | None  # the class of its value on the last axis
    about: str


class ParallelAxes(NamedTuple):
    """Runs as lines across axes."""

    axes: list[ParallelAxis]
    lines: list[RunLines]


def parallel_axes(names: Sequence[str], runs: Sequence[tuple[str, str, Sequence[Any]]]) -> ParallelAxes:
    """Runs as lines: each has a label, an address, and a value for each axis."""
    if len(names) < 2:
        return ParallelAxes([], [])
    scales = [ValueScale([values[n] for _, _, values in runs]) for n in range(len(names))]
    step = (WIDTH - 2 * _AXES_SIDE) / (len(names) - 1)
    places = [_AXES_SIDE + n * step for n in range(len(names))]
    axes = [
        ParallelAxis(name, x, [AxisTick(_down(tick.place), tick.text) for tick in scale.ticks()])
        for name, x, scale in zip(names, places, scales, strict=True)
    ]
    return ParallelAxes(axes, [_line(run, scales, places, names) for run in runs])


def _line(
    run: tuple[str, str, Sequence[Any]],
    scales: Sequence[ValueScale],
    places: Sequence[float],
    names: Sequence[str],
) -> RunLines:
    label, url, values = run
    pieces: list[list[tuple[float, float]]] = [[]]
    for scale, x, value in zip(scales, places, values, strict=True):
        at = scale.place(value)
        if at is None:
            pieces.append([])
        else:
            pieces[-1].append((x, _down(at)))
    last = scales[-1].place(values[-1])
    about = ", ".join(
        f"{name} = {_value(value)}" for name, value in zip(names, values, strict=True) if value is not None
    )
    return RunLines(
        label,
        url,
        [" ".join(f"{x:.1f},{y:.1f}" for x, y in piece) for piece in pieces if len(piece) > 1],
        [piece[0] for piece in pieces if len(piece) == 1],
        None if last is None else min(SHADES - 1, int(last * SHADES)),
        about,
    )


def _has_place(value: Any) -> bool:  # noqa: ANN401 - any value of a record
    return isinstance(value, str | bool) or _is_number(value)


def _is_number(value: Any) -> bool:  # noqa: ANN401 - any value of a record
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _across(place: float) -> float:
    return _LEFT + _PAD + place * (WIDTH - _LEFT - _RIGHT - 2 * _PAD)


def _up(place: float) -> float:
    return HEIGHT - _BOTTOM - place * (HEIGHT - _TOP - _BOTTOM)


def _down(place: float) -> float:
    return HEIGHT - _TOP - place * (HEIGHT - _AXES_TOP - _TOP)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 1]}…"


def _value(value: Any) -> str:  # noqa: ANN401 - any value of a record
    return f"{value:.6g}" if isinstance(value, float) else str(value)[:60]
