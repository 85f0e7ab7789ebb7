"""The `rescue`s of a method: whether the code before them ran through, or which error it raised."""

from runcard.plans.analysis.questions import Question, RescueOutcome
from runcard.plans.analysis.subjects import Subject, one_line, slug
from runcard.plans.analysis.vocabulary import FAILED
from runcard.plans.ruby.rails import underscore
from runcard.plans.ruby.syntax_tree import Code, Node, children, field_of, line_of

_GENERAL = {"Error", "Exception"}  # named together with their module


class RescueReader:
    """Turns `rescue` clauses into questions."""

    def __init__(self, code: Code) -> None:
        self._text_of = code.text_of

    def raised(self, handler: Node, via: str | None) -> Question:
        """Whether one of the errors of a `rescue` clause was raised."""
        exceptions = field_of(handler, "exceptions")
        raised = {self._name(error): one_line(self._text_of(error)) for error in children(exceptions)}
        text = one_line(f"rescue {self._text_of(exceptions)}" if exceptions else "rescue")
        return self._question(raised or {FAILED: ""}, text, handler, handler.parent or handler, via)

    def raised_inline(self, node: Node, via: str | None) -> Question:
        """Whether the code before an inline `rescue` raised an error."""
        return self._question({FAILED: ""}, one_line(self._text_of(node)), node, node, via)

    @staticmethod
    def _question(raised: dict[str, str], text: str, node: Node, whole: Node, via: str | None) -> Question:
        subject = Subject(f"outcome@{whole.start_byte}", "outcome", text, "")
        return Question(
            subject,
            ("outcome", subject.key),
            "outcome",
            RescueOutcome(tuple(raised), tuple(raised.values())),
            text,
            line_of(node),
            via,
        )

    def _name(self, error: Node) -> str:
        """The state for an error: `Stripe::CardError` is `card_error`, `Timeout::Error` is `timeout_error`."""
        *modules, last = self._text_of(error).split("::")
        words = [*modules[-1:], last] if last in _GENERAL else [last]
        return slug(underscore("_".join(words))) or FAILED
