"""The review of a spec, in Markdown."""

from collections.abc import Iterator

from runcard.files import printable
from runcard.plans.spec_review import Review


def review_page(title: str, spec: str, review: Review) -> str:
    """The whole page."""
    return "\n".join(_lines(title, spec, review)) + "\n"


def _lines(title: str, spec: str, review: Review) -> Iterator[str]:
    covered = len(review.states) - len(review.uncovered)
    yield f"# Review of {_code(title)}"
    yield ""
    yield f"{covered} of {len(review.states)} states have a context in {_code(spec)}."
    if review.states:
        yield ""
        yield "| characteristic | state | contexts | examples |"
        yield "|---|---|---|---|"
    for state in review.states:
        lines = f"line {', '.join(map(str, state.lines))}" if state.lines else "**none**"
        yield f"| {_code(state.characteristic)} | {_code(state.state)} | {lines} | {state.examples} |"
    unknown = [f"line {part.line}: {_code(part.name)}" for part in review.unknown]
    unfilled = [f"line {line}: {_code(text)}" for line, text in review.placeholders]
    for heading, rows in (("Contexts that are not in the plan", unknown), ("Placeholders left", unfilled)):
        if rows:
            yield from ("", f"## {heading}", "")
            yield from (f"* {row}" for row in rows)


def _code(text: str) -> str:
    """A text in code font that cannot break a table or become markup."""
    return "`" + printable(text).replace("|", "¦").replace("`", "'") + "`"
