"""How a piece of code came out: it ran through, or raised one of the errors that are rescued."""

from runcard.plans.analysis.questions import Outcome, Question
from runcard.plans.analysis.subjects import Subject, one_line, slug
from runcard.plans.analysis.vocabulary import FAILED
from runcard.plans.ruby.inflections import underscore
from runcard.plans.ruby.syntax_tree import Code, Node, field, line_of, parts

_GENERAL = {"Error", "Exception"}  # which say little without their module


class Outcomes:
    """Reads the `rescue`s of one text."""

    def __init__(self, code: Code) -> None:
        self._of = code.of

    def raised(self, handler: Node, via: str | None) -> Question:
        """Whether the errors of a `rescue` were raised."""
        listed = field(handler, "exceptions")
        errors = tuple(dict.fromkeys(self._name(one) for one in parts(listed))) or (FAILED,)
        text = one_line(f"rescue {self._of(listed)}" if listed else "rescue")
        return self._asked(errors, text, handler, handler.parent or handler, via)

    def failed(self, node: Node, via: str | None) -> Question:
        """Whether what stands before a `rescue` on the same line raised anything."""
        return self._asked((FAILED,), one_line(self._of(node)), node, node, via)

    @staticmethod
    def _asked(errors: tuple[str, ...], text: str, node: Node, whole: Node, via: str | None) -> Question:
        subject = Subject(f"outcome@{whole.start_byte}", "outcome", text, "")
        return Question(
            subject, ("outcome", subject.key), "outcome", Outcome(errors), text, line_of(node), via
        )

    def _name(self, error: Node) -> str:
        """`Stripe::CardError` is a card error, `Timeout::Error` a timeout error."""
        *around, last = self._of(error).split("::")
        words = [*around[-1:], last] if last in _GENERAL else [last]
        return slug(underscore("_".join(words))) or FAILED
