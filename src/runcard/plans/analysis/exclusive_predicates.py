"""Predicates of one subject in the branches of one `if`: they choose among its states.

`if user.admin? … elsif user.editor? … else …` has three branches, and a user is in one of them: the first that fits.
"""

from runcard.plans.analysis.questions import Choice, Condition, Pair, Question
from runcard.plans.analysis.subjects import Subject


def in_a_row(conditions: list[Condition | None]) -> list[Condition | None]:
    """The conditions of an `if` with its `elsif`s: as a choice where they are that, else as they are."""
    pairs = [pair for one in conditions if (pair := _predicate(one)) is not None]
    owners = {owner for _, _, owner in pairs}
    if len(conditions) < 2 or len(pairs) != len(conditions) or len(owners) != 1 or owners == {""}:
        return conditions
    first, answer, _ = pairs[0]
    name = f"{first.name.removesuffix(answer.positive).strip('_')}_status"
    return [_chosen(question, answer, owner, name) for question, answer, owner in pairs]


def _predicate(condition: Condition | None) -> tuple[Question, Pair, str] | None:
    """A plain question of a subject, such as `user.admin?`; and the subject, empty for the object itself."""
    if not isinstance(condition, Question) or not isinstance(condition.answer, Pair):
        return None
    if not condition.answer.holds or not condition.subject.key.endswith("?"):
        return None
    return condition, condition.answer, condition.subject.key.rpartition(".")[0]


def _chosen(question: Question, answer: Pair, owner: str, name: str) -> Question:
    subject = Subject(f"{owner}.status?", name, question.subject.text, question.subject.root)
    choice = Choice((answer.positive,), instead_of=question)
    return Question(subject, ("value", subject.key), name, choice, question.text, question.line, question.via)
