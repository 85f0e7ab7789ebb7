"""One screen of text about a record."""

from typing import Any

from runcard.files import printable
from runcard.views.markdown import duration, money, size, tokens

Fields = dict[str, Any]

_MOST_FILES = 12


def run_screen(
    path: str, document: Fields, status: str | None, files: tuple[tuple[str, int], ...]
) -> list[str]:
    """A run, line by line: what it was, what it made, from what, with what, for how much."""
    generation, costs = document["generation"], document["costs"]
    lines = [f"{generation['run_id']}  {status or 'unknown'}", ""]
    lines += _fields(
        ("directory", path),
        ("experiment", generation.get("experiment_name") or generation["experiment_id"]),
        ("started", generation["timestamp_start"]),
        (
            "took",
            duration(generation["duration_seconds"])
            + (" (estimated)" if generation.get("estimated") else ""),
        ),
        ("command", " ".join(generation.get("command") or [])),
        ("exit code", generation.get("exit_code")),
        ("labels", ", ".join(f"{key}={value}" for key, value in (generation.get("labels") or {}).items())),
        ("related", ", ".join(f"{r['type']} {r['id']}" for r in document.get("relations") or ())),
    )
    lines += _section(
        "With", _fields(*document["configuration"].items(), *_environment(document["environment"]))
    )
    lines += _section("Cost", _cost(document, costs))
    lines += _section("Inputs", _inputs(document["data_sources"]))
    lines += _section("Files", _files(files))
    lines += _section("Trouble", _trouble(document))
    return lines


def _fields(*pairs: tuple[str, object]) -> list[str]:
    known = [(key, value) for key, value in pairs if value not in (None, "")]
    width = max((len(printable(key)) for key, _ in known), default=0)
    return [f"  {printable(key):<{width}}  {_short(value)}" for key, value in known]


def _short(value: object) -> str:
    text = printable(str(value))
    return text if len(text) <= 100 else text[:99] + "…"


def _section(title: str, lines: list[str]) -> list[str]:
    return ["", title, *lines] if lines else []


def _environment(environment: Fields) -> list[tuple[str, object]]:
    git = environment.get("git") or {}
    commit = git.get("commit")
    return [
        ("git", commit and commit[:12] + (" + uncommitted changes" if git.get("dirty") else "")),
        ("python", environment.get("python_version")),
        ("platform", environment.get("platform")),
        ("packages", len(environment["packages"]) if environment.get("packages") else None),
    ]


def _cost(document: Fields, costs: Fields) -> list[str]:
    source = costs.get("cost_source")
    lines = _fields(
        ("total", money(costs["total_cost_usd"]) + (f" ({source})" if source else "")),
        ("input", tokens(costs["input_tokens"]) + _of_which(costs)),
        ("output", tokens(costs["output_tokens"])),
        ("token counts", costs.get("token_source")),
    )
    steps = (document.get("token_usage") or {}).get("breakdown_by_step") or []
    if len(steps) > 1:
        lines += [
            f"    {_short(step.get('step') or '(no step)')}: {money(step.get('cost_usd'))},"
            f" {tokens(step.get('input'))} in, {tokens(step.get('output'))} out"
            for step in steps
        ]
    return lines


def _of_which(costs: Fields) -> str:
    parts = [
        f"{costs[key]:,} {word}"
        for key, word in (
            ("cache_read_tokens", "read from the cache"),
            ("cache_write_tokens", "written to it"),
        )
        if costs.get(key)
    ]
    return f" ({', '.join(parts)})" if parts else ""


def _inputs(sources: Fields) -> list[str]:
    files = [file if isinstance(file, dict) else {"path": file} for file in sources["files"] or ()]
    return _listed([(file["path"], file.get("bytes")) for file in files])


def _files(files: tuple[tuple[str, int], ...]) -> list[str]:
    return _listed(list(files))


def _listed(files: list[tuple[str, int | None]] | list[tuple[str, int]]) -> list[str]:
    lines = [
        f"  {_short(path)}" + (f"  {size(count)}" if count is not None else "")
        for path, count in files[:_MOST_FILES]
    ]
    more = len(files) - _MOST_FILES
    return [*lines, f"  … and {more:,} more"] if more > 0 else lines


def _trouble(document: Fields) -> list[str]:
    return [
        f"  {word}: {_short(problem.get('type') or '')}{': ' if problem.get('type') else ''}{_short(problem['message'])}"
        for key, word in (("errors", "error"), ("warnings", "warning"))
        for problem in document.get(key) or ()
    ]
