"""The characteristics of a method as a plan has them: one object for each, in the order in which the code asks."""

from collections.abc import Mapping
from typing import NamedTuple

from runcard.encoding import JsonObject
from runcard.plans.analysis.dependency_tree import levels_of, parents_of, terminal_states
from runcard.plans.analysis.method_source import Method
from runcard.plans.analysis.project_context import Models
from runcard.plans.analysis.questions import Bounds, MethodFlow, Question, RescueOutcome, Threshold
from runcard.plans.analysis.states import Characteristic, Characteristics, Needed
from runcard.plans.analysis.vocabulary import GOOD
from runcard.plans.ruby.rails import camelize


class SetupContext(NamedTuple):
    """What lies around a method: the models of the project, and what its private methods name."""

    models: Models
    names: Mapping[str, frozenset[str]]

    def locals_of(self, private: str | None) -> frozenset[str]:
        return self.names.get(private or "", frozenset())


def characteristics_of(
    way: MethodFlow, file: str, class_name: str, method: Method | None, around: SetupContext
) -> list[JsonObject]:
    """What the behaviour of a method depends on."""
    characteristics = Characteristics(
        [asked.question for asked in way.asked], method.defaults if method else {}
    )
    parents = parents_of(way.asked, characteristics)
    levels = levels_of(parents)
    terminal = terminal_states(way.left, parents, characteristics)
    found = []
    for characteristic, needed in parents.items():
        _put_happy_first(characteristic, terminal.get(characteristic, set()))
        one: JsonObject = {
            "name": characteristic.name,
            "type": characteristic.type,
            "states": characteristic.states,
            "default": characteristic.default,
        }
        one |= _place(needed, levels[characteristic])
        one["terminal_states"] = [
            state for state in characteristic.states if state in terminal.get(characteristic, set())
        ]
        one |= _thresholds(characteristic)
        one["setup"] = _setup(characteristic, class_name, method, around)
        one |= _origin(characteristic, file)
        found.append(one)
    return found


def _put_happy_first(characteristic: Characteristic, terminal: set[str]) -> None:
    """Of the two states of a range, the one in which the method goes on comes first."""
    first = characteristic.states[0]
    if (
        characteristic.type == "range"
        and len(characteristic.states) == 2
        and terminal == {first}
        and first not in GOOD
    ):
        characteristic.states.reverse()


def _place(needed: Needed | None, level: int) -> JsonObject:
    if needed is None:
        return {"depends_on": None, "when_parent": None, "level": level}
    parent, states = needed
    when = [state for state in parent.states if state in states]
    return {"depends_on": parent.name, "when_parent": when, "level": level}


def _thresholds(characteristic: Characteristic) -> JsonObject:
    """What a range is compared with: the first comparison, and all of them where there are several."""
    if characteristic.type != "range":
        return {}
    asked = [question.answer for question in characteristic.questions]
    every = list(dict.fromkeys((one.operator, one.value) for one in asked if isinstance(one, Bounds)))
    operator, value = every[0]
    found: JsonObject = {"threshold_value": _value(value), "threshold_operator": operator}
    if len(every) > 1:
        found["thresholds"] = [{"operator": sign, "value": _value(limit)} for sign, limit in every]
    return found


def _value(threshold: Threshold) -> int | float | str:
    return threshold.text if threshold.number is None else threshold.number


def _setup(
    characteristic: Characteristic, class_name: str, method: Method | None, around: SetupContext
) -> JsonObject:
    """How a test brings a state about: by what, of which class, and where the code reads it."""
    question = characteristic.questions[0]
    root = question.subject.root
    model = camelize(root)
    of: str | None = None
    if isinstance(question.answer, RescueOutcome):
        kind = "exception"
    elif root and around.models.has(model):
        kind, of = "model", model
    elif method is not None and root in method.parameters:
        kind = "argument"
    elif root.startswith("$") or (
        method is not None and root in method.variables | around.locals_of(question.via)
    ):
        kind = "variable"
    elif question.subject.key.removesuffix(".class") == root:
        kind, of = "attribute", class_name
    else:
        kind = "method"
    return {"type": kind, "class": of, "source": question.subject.text}


def _origin(characteristic: Characteristic, file: str) -> JsonObject:
    """Where in the code it comes from: the lines, the conditions as written, and the private methods."""
    lines = sorted({question.line for question in characteristic.questions})
    found: JsonObject = {
        "source": f"{file}:{','.join(map(str, lines))}",
        "lines": lines,
        "condition": "; ".join(_texts(characteristic.questions)),
    }
    via = list(dict.fromkeys(question.via for question in characteristic.questions if question.via))
    if via:
        found["note"] = f"asked in the private method {', '.join(via)}"
    return found


def _texts(questions: list[Question]) -> list[str]:
    return list(dict.fromkeys(question.text for question in questions))
