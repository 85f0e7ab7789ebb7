"""The clauses of a `case`: `when` and `in`, as conditions."""

from runcard.plans.analysis.branch_notes import BranchNotes
from runcard.plans.analysis.conditions import Conditions
from runcard.plans.analysis.questions import Both, Condition, Not
from runcard.plans.ruby.syntax_tree import Node, children, field_of


class CaseClauses:
    """Reads the conditions of clauses."""

    def __init__(self, conditions: Conditions, branches: BranchNotes) -> None:
        self._conditions, self._branches = conditions, branches

    def whole(
        self, value: Node | None, clause: Node, clauses: list[Node], otherwise: Node | None
    ) -> Condition | None:
        """The condition of a clause; remembered, if a part of it is not known."""
        self._conditions.is_partial = False
        return self._branches.whole(self._clause(value, clause, clauses, otherwise))

    def _clause(
        self, value: Node | None, clause: Node, clauses: list[Node], otherwise: Node | None
    ) -> Condition | None:
        patterns = _patterns(clause)
        if value is None:
            tests = [self._conditions.read(part) for pattern in patterns for part in children(pattern)]
            condition = tests[0] if tests else None
            for other in tests[1:]:
                condition = self._conditions.joined(condition, other, both=False)
            return condition
        all_patterns = [pattern for other in clauses for pattern in _patterns(other)]
        question: Condition = self._conditions.choice(
            value,
            patterns,
            clause,
            is_closed=otherwise is None,
            numbers=self._conditions.comparisons.are_numbers(all_patterns),
        )
        guard = field_of(clause, "guard")
        test = field_of(guard, "condition") if guard else None
        inner = self._conditions.read(test) if test else None
        if inner is None or guard is None:
            self._conditions.is_partial |= guard is not None
            return question
        return Both(question, Not(inner) if guard.type == "unless_guard" else inner)


def _patterns(clause: Node) -> list[Node]:
    if clause.type == "when":
        return [part for part in children(clause) if part.type == "pattern"]
    pattern = field_of(clause, "pattern")
    return [pattern] if pattern else []
