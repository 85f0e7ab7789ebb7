"""The characteristics of a method as a plan lists them: one object each, in the order of the code."""

from collections.abc import Mapping
from typing import NamedTuple

from runcard.encoding import JsonObject
from runcard.plans.analysis.dependency_tree import levels_of, parents_of, reaches_of, terminal_states
from runcard.plans.analysis.method_source import Method
from runcard.plans.analysis.project_context import Models, policy_names
from runcard.plans.analysis.questions import Bounds, MethodFlow, Question, RescueOutcome, Threshold
from runcard.plans.analysis.states import Characteristic, Characteristics, Requirement
from runcard.plans.analysis.vocabulary import GOOD
from runcard.plans.analysis.wording import wording_of
from runcard.plans.ruby.rails import camelize


class SetupContext(NamedTuple):
    """What the setup of a state depends on: the models of the project, and local names of private methods."""

    models: Models
    names: Mapping[str, frozenset[str]]

    def locals_of(self, private: str | None) -> frozenset[str]:
        return self.names.get(private or "", frozenset())


def characteristics_of(
    flow: MethodFlow, file: str, class_name: str, method: Method | None, context: SetupContext
) -> list[JsonObject]:
    """What the behaviour of a method depends on, as objects of a plan."""
    characteristics = Characteristics(
        [item.question for item in flow.questions], method.defaults if method else {}
    )
    reaches = reaches_of(flow.questions, characteristics, flow.partial)
    parents = parents_of(reaches)
    levels = levels_of(parents)
    terminal = terminal_states(flow.exits, parents, characteristics, reaches)
    result = []
    for characteristic, requirement in parents.items():
        _put_happy_first(characteristic, terminal.get(characteristic, set()))
        data: JsonObject = {
            "name": characteristic.name,
            "type": characteristic.type,
            "states": characteristic.states,
            "default": characteristic.default,
        }
        data |= _dependency(requirement, levels[characteristic])
        data["terminal_states"] = [
            state for state in characteristic.states if state in terminal.get(characteristic, set())
        ]
        data |= _thresholds(characteristic)
        data["setup"] = _setup(characteristic, class_name, method, context)
        data["wording"] = wording_of(characteristic)
        if data["wording"]["subject"] == "it" and policy_names(file, class_name):
            data["wording"]["subject"] = "user"  # what a policy asks itself is about its user
        data |= _origin(characteristic, file)
        result.append(data)
    return result


def _put_happy_first(characteristic: Characteristic, terminal: set[str]) -> None:
    """States in which the method continues come before those in which it ends; a sequence keeps its order."""
    if characteristic.type != "sequential" and terminal and characteristic.states[0] not in GOOD:
        characteristic.states.sort(key=lambda state: state in terminal)


def _dependency(requirement: Requirement | None, level: int) -> JsonObject:
    if requirement is None:
        return {"depends_on": None, "when_parent": None, "level": level}
    parent, states = requirement
    when = [state for state in parent.states if state in states]
    return {"depends_on": parent.name, "when_parent": when, "level": level}


def _thresholds(characteristic: Characteristic) -> JsonObject:
    """The thresholds of a range: the first comparison, and all of them if there are several."""
    if characteristic.type != "range":
        return {}
    answers = [question.answer for question in characteristic.questions]
    comparisons = list(
        dict.fromkeys((answer.operator, answer.value) for answer in answers if isinstance(answer, Bounds))
    )
    operator, value = comparisons[0]
    thresholds: JsonObject = {"threshold_value": _value(value), "threshold_operator": operator}
    if len(comparisons) > 1:
        thresholds["thresholds"] = [{"operator": sign, "value": _value(limit)} for sign, limit in comparisons]
    if characteristic.line is not None:
        known = characteristic.line.comparisons()
        thresholds["state_thresholds"] = {
            state: known[state] for state in characteristic.states if state in known
        }
    return thresholds


def _value(threshold: Threshold) -> int | float | str:
    return threshold.text if threshold.number is None else threshold.number


def _setup(
    characteristic: Characteristic, class_name: str, method: Method | None, context: SetupContext
) -> JsonObject:
    """How a test sets a state up: by what, of which class, and where the code reads it."""
    question = characteristic.questions[0]
    root = question.subject.root
    model = camelize(root)
    of: str | None = None
    if isinstance(question.answer, RescueOutcome):
        kind = "exception"
    elif root and context.models.has(model):
        kind, of = "model", model
    elif method is not None and root in method.parameters:
        kind = "argument"
    elif root.startswith("$") or (
        method is not None and root in method.variables | context.locals_of(question.via)
    ):
        kind = "variable"
    elif question.subject.key.removesuffix(".class") == root:
        kind, of = "attribute", class_name
    else:
        kind = "method"
    return {"type": kind, "class": of, "source": question.subject.text}


def _origin(characteristic: Characteristic, file: str) -> JsonObject:
    """The origin in the code: lines, conditions as written, private methods."""
    lines = sorted({question.line for question in characteristic.questions})
    origin: JsonObject = {
        "source": f"{file}:{','.join(map(str, lines))}",
        "lines": lines,
        "condition": "; ".join(_texts(characteristic.questions)),
    }
    via = list(dict.fromkeys(question.via for question in characteristic.questions if question.via))
    if via:
        origin["note"] = f"asked in the private method {', '.join(via)}"
    return origin


def _texts(questions: list[Question]) -> list[str]:
    return list(dict.fromkeys(question.text for question in questions))
