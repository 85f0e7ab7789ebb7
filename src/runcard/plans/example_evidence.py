"""What an example proves about the states of a plan, by the call that it makes and the result that it expects.

The ways out of the method that do not fit the arguments or the expectation are left out. A state is proven if the method
asks for it on every way that is left, and it has this state on all of them. The example must pass.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from runcard.plans.analysis.argument_states import CallArguments
from runcard.plans.analysis.branch_states import MethodBranches, WayStates
from runcard.plans.analysis.outcome_notes import Result
from runcard.plans.branch_evidence import StateKey
from runcard.plans.ruby.expectations import Expectation, Expected
from runcard.plans.ruby.ruby_values import RubyValue
from runcard.plans.ruby.spec_calls import ExampleCall

Possible = Mapping[str, frozenset[str]]
# Errors that code which is called raises, too: expecting one does not show which line raised it.
_COMMON_ERRORS = frozenset(
    {
        "Exception",
        "StandardError",
        "ArgumentError",
        "TypeError",
        "NameError",
        "NoMethodError",
        "KeyError",
        "IndexError",
        "RangeError",
        "FrozenError",
        "ZeroDivisionError",
        "IOError",
        "EOFError",
        "SystemExit",
        "NotImplementedError",
        "RecordNotFound",
        "RecordInvalid",
        "RecordNotSaved",
    }
)


_MIN_PIECE = 4  # letters of a message that tell it apart
_NEVER = frozenset({""})  # no state has this name


class ProvenStates(NamedTuple):
    """The states that an example proves: by what it expects, and by the arguments alone."""

    by_result: frozenset[StateKey]
    by_arguments: frozenset[StateKey]


def proven_states(method: MethodBranches, calls: Iterable[ExampleCall]) -> ProvenStates:
    """The states that the calls of an example prove."""
    by_result: set[StateKey] = set()
    by_arguments: set[StateKey] = set()
    for call in calls:
        known = _argument_states(method, call)
        into = by_arguments if call.expectation.kind is Expected.RETURNS else by_result
        into |= _proven(method, known, call.expectation)
    return ProvenStates(frozenset(by_result), frozenset(by_arguments - by_result))


def _argument_states(method: MethodBranches, call: ExampleCall) -> Possible:
    if method.arguments is None:
        return {}
    return method.arguments.of(
        CallArguments(call.positional, call.keywords, call.has_block, call.is_complete, call.stubs)
    )


def _proven(method: MethodBranches, given: Possible, expected: Expectation) -> set[StateKey]:
    left = [
        way for way in method.ways_out if _fits_result(way, expected) and _fits_arguments(way.states, given)
    ]
    if not left or (expected.is_error and not _is_own_error(left, expected)):
        return set()
    known = dict(given)
    joint = set(left[0].states).intersection(*(way.states for way in left))
    proven: set[StateKey] = set()
    for name in joint:
        each = [way.states[name] & given.get(name, way.states[name]) for way in left]
        if all(each):
            known[name] = frozenset().union(*each)
            proven |= _only(name, known[name])
    if expected.is_error:
        return proven
    for asked in method.asked:
        is_reached = all(known.get(name, _NEVER) <= states for name, states in asked.needs.items())
        if is_reached:
            proven |= _only(asked.name, given.get(asked.name, frozenset()))
    return proven


def _only(name: str, states: frozenset[str]) -> set[StateKey]:
    return {(name, next(iter(states)))} if len(states) == 1 else set()


def _fits_arguments(states: Possible, given: Possible) -> bool:
    return all(not states.get(name) or states[name] & known for name, known in given.items())


def _is_own_error(ways: list[WayStates], expected: Expectation) -> bool:
    """Whether the error can only come from the method itself: its class is its own, or its message is the same."""
    name = expected.error.rpartition("::")[2]
    if expected.message and all(_has_message(way.value, expected.message) for way in ways):
        return True
    return bool(name) and name not in _COMMON_ERRORS and all(way.error for way in ways)


def _has_message(value: RubyValue | None, message: tuple[str, ...]) -> bool:
    """Whether the text of an error may be the expected one: what is computed in either may be anything."""
    if value is None:
        return False
    shown, wanted = "\0".join(value.data), "\0".join(message)
    for pieces, text in ((value.data, wanted), (message, shown)):
        if all(piece in text for piece in pieces):
            return any(len(piece.strip()) >= _MIN_PIECE for piece in pieces)
    return False


def _fits_result(way: WayStates, expected: Expectation) -> bool:
    if way.result is Result.ERROR:
        names = {name.rpartition("::")[2] for name in (way.error, expected.error) if name}
        is_class = len(names) < 2 or expected.error in {"StandardError", "Exception"}
        is_message = not expected.message or way.value is None or _has_message(way.value, expected.message)
        return expected.is_error and is_class and is_message
    if expected.is_error:
        return False
    may_be = _truths(way.result, way.value)
    if expected.kind is Expected.VALUE and expected.value is not None:
        if way.result is Result.VALUE:
            return way.value is not None and way.value.may_equal(expected.value)
        return expected.value.is_truthy in may_be
    if expected.kind is Expected.NOT_NIL:
        return way.value is None or way.value.kind != "nil"
    wanted = {Expected.TRUTHY: True, Expected.FALSY: False}.get(expected.kind)
    return wanted is None or wanted in may_be


def _truths(result: Result, value: RubyValue | None) -> set[bool]:
    """Whether a result can be true, or false."""
    if value is not None:
        return {value.is_truthy}
    return {Result.TRUTHY: {True}, Result.FALSY: {False}}.get(result, {True, False})
