"""Markdown for people who browse: README.md of a run.

It is made of the document and the names of the files alone, so it is the same whoever writes it. Names are escaped: none
can break the table or hide in it.
"""

from shlex import join
from typing import Any

from runcard.documents.exact_sums import exact_sum, plain_number
from runcard.encoding import JsonObject
from runcard.files import printable
from runcard.views.formats import byte_size, duration, money, source_text, token_count, truncated
from runcard.views.markdown import code, escape

_SHOWN = 30  # of files, settings and troubles
_STATUS = {"completed": "✅", "failed": "❌", "interrupted": "⚠️"}


def readme(document: JsonObject, files: list[tuple[str, int]]) -> str:
    """The page that greets whoever opens a run's directory."""
    generation = document["generation"]
    title = generation.get("experiment_name") or generation["run_id"]
    sections = [
        f"{_mark(generation['run_id'])}\n# {escape(title)}",
        _summary(document),
        _made(files),
        _from(document["data_sources"]),
        _with(document),
        _cost(document),
        _trouble(document),
        _verify(),
        _again(document),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _mark(run_id: str) -> str:
    return f"<!-- runcard {run_id} -->"


def is_readme_of(beginning: bytes, run_id: str) -> bool:
    """Whether a file that begins like this is the page that runcard wrote for this run."""
    return beginning.startswith(_mark(run_id).encode())


def _summary(document: JsonObject) -> str:
    generation = document["generation"]
    status = generation["status"]
    estimated = " (estimated: the end was not seen)" if generation.get("estimated") else ""
    lines = [
        f"**Run** {code(generation['run_id'])} {_STATUS.get(status, '')} {status}",
        f"**Started** {generation['timestamp_start']}",
        f"**Took** {duration(generation['duration_seconds'])}{estimated}",
    ]
    return "  \n".join(lines)


def _made(files: list[tuple[str, int]]) -> str:
    if not files:
        return "## What was made\n\nNo files."
    rows = [f"| {code(path)} | {byte_size(count)} |" for path, count in files[:_SHOWN]]
    more = _more(files, "; `SHA256SUMS` lists them all")
    return "## What was made\n\n| File | Size |\n|---|---:|\n" + "\n".join(rows) + more


def _more(items: list[Any], where: str = "; `metadata.json` has them all") -> str:
    left = len(items) - _SHOWN
    return f"\n\n… and {left:,} more{where}." if left > 0 else ""


def _from(sources: JsonObject) -> str:
    files = sources["files"] or []
    if not files:
        return "## From what\n\nNo inputs were recorded."
    rows = [
        f"| {code(file['path'])} | {byte_size(file['bytes']) if file.get('bytes') is not None else 'unknown'}"
        f" | {token_count(file.get('tokens'))} |"
        for file in files[:_SHOWN]
    ]
    return "## From what\n\n| Input | Size | Tokens |\n|---|---:|---:|\n" + "\n".join(rows) + _more(files)


def _with(document: JsonObject) -> str:
    environment = document["environment"]
    rows = [(key, value) for key, value in document["configuration"].items() if value is not None]
    left = _more(rows)
    rows = rows[:_SHOWN]
    git = environment.get("git") or {}
    if git.get("commit"):
        rows.append(("git commit", git["commit"] + (" with uncommitted changes" if git.get("dirty") else "")))
    rows += [
        (label, environment[key])
        for key, label in (("python_version", "Python"), ("platform", "platform"), ("timezone", "timezone"))
        if environment.get(key)
    ]
    table = "\n".join(f"| {escape(key)} | {code(truncated(value, 120))} |" for key, value in rows)
    return f"## With what\n\n| | |\n|---|---|\n{table}{left}"


def total_cost(document: JsonObject) -> str:
    """What a run cost, and where that comes from; where it is not known, what of it is."""
    costs = document["costs"]
    source, total = costs.get("cost_source"), costs["total_cost_usd"]
    if total is not None:
        return money(total) + (f" ({source_text(source)})" if source else "")
    parts = (document.get("token_usage") or {}).get("breakdown_by_model") or []
    known = [part["cost_usd"] for part in parts if part.get("cost_usd") is not None]
    return f"unknown; {money(plain_number(exact_sum(known)))} of it is known" if known else "unknown"


def _cost(document: JsonObject) -> str:
    costs = document["costs"]
    lines = [
        f"* **Cost**: {total_cost(document)}",
        f"* **Input tokens**: {token_count(costs['input_tokens'])}"
        + (
            f" ({token_count(costs['cache_read_tokens'])} of them from the cache)"
            if costs.get("cache_read_tokens")
            else ""
        ),
        f"* **Output tokens**: {token_count(costs['output_tokens'])}",
    ]
    if costs.get("token_source"):
        lines.append(f"* **Token counts are** {source_text(costs['token_source'])}")
    return "## For how much\n\n" + "\n".join(lines)


def _trouble(document: JsonObject) -> str:
    problems = [
        f"* **{word}**: {escape(truncated(problem_text(problem), 200))}"
        for key, word in (("errors", "Error"), ("warnings", "Warning"))
        for problem in document[key]
    ]
    return "## What went wrong\n\n" + "\n".join(problems[:_SHOWN]) + _more(problems) if problems else ""


def problem_text(problem: JsonObject) -> str:
    """An error or a warning in one sentence."""
    kind = problem.get("type")
    return f"{kind}: {problem['message']}" if kind else problem["message"]


def _verify() -> str:
    return (
        "## How to check it\n\n"
        "```console\n$ runcard verify .\n$ sha256sum -c SHA256SUMS\n```\n\n"
        "`metadata.json` holds the whole record, `experiment.jsonl` everything that happened, line by line."
    )


def _again(document: JsonObject) -> str:
    generation = document["generation"]
    command = generation.get("command")
    if not command:
        return ""
    was_run = generation.get("exit_code") is not None  # by us, who gave it its directory
    again = f"{'runcard run -- ' if was_run else ''}{printable(join(command))}"
    return f"## How to run it again\n\n```console\n$ {again}\n```"
