"""The review of a spec: in Markdown, and as annotations of a pull request."""

from collections.abc import Iterator, Sequence

from runcard.files import printable
from runcard.plans.spec_review import Evidence, EvidenceKind, Review, StateCoverage

_POINTER = " By names and calls; for exact answers, pass a coverage report with `--coverage`."


def review_page(title: str, specs: Sequence[str], review: Review, *, has_coverage: bool = False) -> str:
    """The whole page."""
    return "\n".join(_lines(title, specs, review, has_coverage=has_coverage)) + "\n"


def _lines(title: str, specs: Sequence[str], review: Review, *, has_coverage: bool) -> Iterator[str]:
    covered = len(review.states) - len(review.uncovered)
    yield f"# Review of {_code(title)}"
    yield ""
    pointer = _POINTER if review.uncovered and not has_coverage else ""
    yield f"{covered} of {len(review.states)} states are covered in {', '.join(map(_code, specs))}.{pointer}"
    if review.states:
        yield ""
        yield "| characteristic | state | status | known by | examples |"
        yield "|---|---|---|---|---|"
    for state in review.states:
        status = state.status if state.is_covered else f"**{state.status}**"
        cells = [
            _code(state.characteristic),
            _code(state.state),
            status,
            _known_by(state),
            str(state.examples),
        ]
        yield f"| {' | '.join(cells)} |"
    unknown = [f"line {part.line}: {_code(part.name)}" for part in review.unknown]
    unfilled = [f"line {line}: {_code(text)}" for line, text in review.placeholders]
    for heading, rows in (("Contexts that are not in the plan", unknown), ("Placeholders left", unfilled)):
        if rows:
            yield from ("", f"## {heading}", "")
            yield from (f"* {row}" for row in rows)


def _known_by(state: StateCoverage) -> str:
    if not state.is_covered:
        return printable(state.reason or "").replace("|", "¦")
    return ", ".join(dict.fromkeys(map(_evidence, state.evidence)))


def _evidence(evidence: Evidence) -> str:
    if evidence.known_by is EvidenceKind.COVERAGE:
        times = "once" if evidence.times == 1 else f"{evidence.times} times"
        return f"coverage: source line {evidence.line} ran {times}"
    return f"{evidence.known_by}, line {evidence.line}"


def _code(text: str) -> str:
    """A text in code font that cannot break a table or become markup."""
    return "`" + printable(text).replace("|", "¦").replace("`", "'") + "`"


def github_annotation(file: str, line: int, message: str) -> str:
    """A workflow command of GitHub that shows a warning beside a line of a pull request."""
    return f"::warning file={_property(file)},line={line}::{_message(message)}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
