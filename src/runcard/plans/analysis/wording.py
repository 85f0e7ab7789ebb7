"""What the states of a characteristic read like: a subject, and for each state what it says of the subject."""

import re

from runcard.encoding import JsonObject
from runcard.plans.analysis.phrases import being
from runcard.plans.analysis.questions import ABSENT, OTHER, Choice, Presence, Question, RescueOutcome
from runcard.plans.analysis.states import Characteristic
from runcard.plans.analysis.subjects import LONGEST_CODE
from runcard.plans.analysis.vocabulary import SUCCEEDED

_OTHER = "something else"
_CLASS = re.compile(r"(?:::)?[A-Z]\w*(?:::[A-Z]\w*)*")
_ODD = re.compile(r"^_|_$|__")  # a literal that is no name, such as `__none__`


def wording_of(characteristic: Characteristic) -> JsonObject:
    """The wording of all states of a characteristic, as a plan has it."""
    given = [question for question in characteristic.questions if question.wording is not None]
    known = {
        state: text
        for question in given
        for state, text in (question.wording.states if question.wording else ())
    }
    known |= _predicates(characteristic)
    first = characteristic.questions[0]
    subject = given[0].wording.subject if given and given[0].wording else _subject(characteristic, first)
    line = characteristic.line
    known |= line.phrases(being(subject), first.subject.name) if line is not None else {}
    states = {state: known.get(state) or _text(first, subject, state) for state in characteristic.states}
    if isinstance(first.answer, RescueOutcome):
        states = _outcomes(characteristic)
    return {"subject": subject, "states": states}


def _predicates(characteristic: Characteristic) -> dict[str, str]:
    """The states of a choice between predicates: `user.admin?` and `user.editor?`."""
    answers = [question.answer for question in characteristic.questions]
    asked = [answer.instead_of for answer in answers if isinstance(answer, Choice) and answer.instead_of]
    return {
        state: text
        for question in asked
        for state, text in (question.wording.states[:1] if question.wording else ())
        if question.wording and question.wording.subject
    }


def _subject(characteristic: Characteristic, first: Question) -> str:
    if isinstance(first.answer, RescueOutcome):
        return ""
    name, subject = first.name, first.subject
    if name != characteristic.name and len(subject.text) <= LONGEST_CODE:
        return subject.text  # another characteristic has this name
    if subject.noun and subject.name in {name, name.removesuffix("_present")}:
        return subject.noun
    if isinstance(first.answer, Presence):
        name = name.removesuffix("_present")
    elif isinstance(first.answer, Choice) and first.answer.instead_of is not None:
        name = name.removesuffix("_status")
    return _words(name)


def _text(question: Question, subject: str, state: str) -> str:
    be, words = being(subject), _value(state)
    if state.startswith("not_"):
        return f"{be} not {_value(state.removeprefix('not_'))}"
    if isinstance(question.answer, Choice):
        if state == OTHER:
            return f"{be} {_OTHER}"
        if state == ABSENT:
            return f"{be} nil"
    return f"{be} {words}"


def _outcomes(characteristic: Characteristic) -> dict[str, str]:
    """The errors of a `rescue`, with the names that they have in the code."""
    raised = {
        state: name
        for question in characteristic.questions
        if isinstance(question.answer, RescueOutcome)
        for state, name in zip(question.answer.errors, question.answer.classes, strict=False)
    }
    names = {state: _error(raised.get(state) or "") for state in characteristic.states}
    return {state: f"{'no error' if state == SUCCEEDED else name} is raised" for state, name in names.items()}


def _error(code: str) -> str:
    """An error by the name of its class; of code that computes the class, the code is quoted."""
    if not code or _CLASS.fullmatch(code):
        return code or "an error"
    return f"an error of `{code.removeprefix('*')}`"


def _value(state: str) -> str:
    return state if _ODD.search(state) else _words(state)


def _words(name: str) -> str:
    return name.replace("_", " ").strip()
