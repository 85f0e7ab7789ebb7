"""README.md of a run, in Markdown.

It depends only on the document and the names of the files, so it is the same whoever writes it. Names are escaped: none
can break a table or become markup.
"""

from runcard.documents.run.application import labelled_versions
from runcard.documents.run.fields import has_calls, known_cost, may_have_more, model_breakdown
from runcard.documents.run.program import ProgramKind, is_recorded_by_program, program_kind
from runcard.encoding import JsonObject
from runcard.views.call_times import call_count, call_times, witness_line
from runcard.views.charges import cached_tokens, server_tools, special_prices
from runcard.views.formats import (
    byte_size,
    command_line,
    cost_or_known,
    money,
    money_at_least,
    run_duration,
    settings_shown,
    source_text,
    token_count,
    total_or_known,
    truncated,
)
from runcard.views.markdown import code, escape
from runcard.views.missing_usage import counts_source, failed_calls, missing_usage, no_calls, total_tokens

MAX_ROWS = 30  # of files, settings and problems
_STATUS = {"completed": "✅", "failed": "❌", "interrupted": "⚠️"}
_ENVIRONMENT = {"python_version": "Python", "platform": "platform", "timezone": "timezone"}
_RERUN = "## Run again\n\n```console\n$ runcard rerun .\n```"
_WHOLE_PROGRAM = "It runs the whole program again, with all runs that it records, and compares this run with its counterpart:"
_UNKNOWN_NOTEBOOK = (
    "This needs the file of the notebook that recorded the run, which is not known. Run its cells again, or use "
    "`runcard run -- jupyter execute NOTEBOOK.ipynb`."
)

_NO_PROGRAM = {
    ProgramKind.INTERACTIVE: "The run was recorded in an interactive session, or by a program from standard input, so there "
    "is no file to run. Run the same code again.",
    ProgramKind.WORKER: "The run was recorded in a worker process of `multiprocessing`. Run the whole program again.",
}
_PROBLEMS = {"errors": "Error", "warnings": "Warning"}


def readme(document: JsonObject, files: list[tuple[str, int]], more_files: int = 0) -> str:
    """The whole file; `files` are the run's outputs with their sizes, but for `more_files` that are not shown."""
    generation = document["generation"]
    title = generation.get("experiment_name") or generation["run_id"]
    sections = [
        f"{_marker(generation['run_id'])}\n# {escape(title)}",
        _summary(generation),
        _files(files, more_files),
        _inputs(document["data_sources"]),
        _configuration(document),
        _cost(document),
        _metrics(document),
        _problems(document),
        _verify(),
        _rerun(document),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _marker(run_id: str) -> str:
    return f"<!-- runcard {run_id} -->"


def is_readme_of(beginning: bytes, run_id: str) -> bool:
    """Whether a file with this beginning is the README that runcard wrote for this run."""
    return beginning.startswith(_marker(run_id).encode())


def _summary(generation: JsonObject) -> str:
    status = generation["status"]
    # Without an experiment, the title is the id.
    heading = f"**Run** {code(generation['run_id'])}" if generation.get("experiment_name") else "**Status**"
    lines = [
        f"{heading} {_STATUS.get(status, '')} {status}",
        f"**Started** {generation['timestamp_start']}",
        f"**Duration** {run_duration(generation)}",
    ]
    if function := generation.get("function"):
        lines.insert(1, f"**Function** {code(truncated(function, 120))}")
    return "  \n".join(lines)


def _files(files: list[tuple[str, int]], more_files: int) -> str:
    if not files:
        return "## Files\n\nNo files."
    rows = [f"| {code(path)} | {byte_size(size)} |" for path, size in files[:MAX_ROWS]]
    return (
        "## Files\n\n| File | Size |\n|---|---:|\n"
        + "\n".join(rows)
        + _more(len(files) + more_files, "`SHA256SUMS`")
    )


def _more(number: int, full_list: str = "`metadata.json`") -> str:
    hidden = number - MAX_ROWS
    return f"\n\n… and {hidden:,} more; {full_list} lists them all." if hidden > 0 else ""


def _inputs(sources: JsonObject) -> str:
    files = sources["files"] or []
    if not files:
        return "## Inputs\n\nNo inputs were recorded."
    rows = [
        f"| {code(file['path'])} | {byte_size(file['bytes']) if file.get('bytes') is not None else 'unknown'}"
        f" | {token_count(file.get('tokens'))} |"
        for file in files[:MAX_ROWS]
    ]
    return "## Inputs\n\n| Input | Size | Tokens |\n|---|---:|---:|\n" + "\n".join(rows) + _more(len(files))


def _configuration(document: JsonObject) -> str:
    environment = document["environment"]
    rows = settings_shown(document["configuration"])
    more = _more(len(rows))
    rows = rows[:MAX_ROWS]
    git = environment.get("git") or {}
    if git.get("commit"):
        rows.append(("git commit", git["commit"] + (" with uncommitted changes" if git.get("dirty") else "")))
    rows += labelled_versions(environment)
    rows += [(label, environment[key]) for key, label in _ENVIRONMENT.items() if environment.get(key)]
    table = "\n".join(f"| {escape(key)} | {code(truncated(value, 120))} |" for key, value in rows)
    return f"## Configuration\n\n| | |\n|---|---|\n{table}{more}"


def total_cost(document: JsonObject) -> str:
    """The cost of a run and its source; where the total is unknown, the part that is known."""
    costs = document["costs"]
    source, total = costs.get("cost_source"), costs["total_cost_usd"]
    if total is not None:
        amount = money_at_least if may_have_more(document) else money
        return amount(total) + (f" ({source_text(source)})" if source else "")
    return total_or_known(None, known_cost(document), money)


def _cost(document: JsonObject) -> str:
    failed = failed_calls(document)
    if not has_calls(document):
        return "## Cost\n\n" + (
            f"No model call was answered. Failed: {escape(failed)}."
            if failed
            else f"{no_calls(document).capitalize()}."
        )
    costs = document["costs"]
    lines = [
        f"* **Cost**: {total_cost(document)}",
        f"* **Input tokens**: {total_tokens(document, 'input_tokens')}{cached_tokens(costs)}",
        f"* **Output tokens**: {total_tokens(document, 'output_tokens')}",
    ]
    lines += [f"* **Missing**: {escape(reason)}" for reason in missing_usage(document)]
    if source := counts_source(document):
        lines.append(f"* **Token counts**: {source}")
    if tools := server_tools(model_breakdown(document)):
        lines.append(f"* **Tools of the vendor**: {escape(tools)}")
    if prices := special_prices(costs.get("price_rows")):
        lines.append(f"* **Prices**: {escape(prices)}")
    if models := _models(document):
        lines.append(f"* **Models**: {models}")
    if times := call_times(document):
        lines.append(f"* **Calls**: {times}")
    if failed:
        lines.append(f"* **Failed calls**: {escape(failed)}")
    if witness := witness_line(document):
        lines.append(f"* **Witness**: {escape(witness)}")
    return "## Cost\n\n" + "\n".join(lines)


def _metrics(document: JsonObject) -> str:
    if not document.get("metrics"):
        return ""
    from runcard.views.metrics import metric_values  # noqa: PLC0415 - most runs have none

    rows = [f"| {escape(name)} | {value} |" for name, value in metric_values(document)]
    return "## Metrics\n\n| Metric | Value |\n|---|---:|\n" + "\n".join(rows[:MAX_ROWS]) + _more(len(rows))


def _models(document: JsonObject) -> str:
    """All models that were called, each with its number of calls; with its cost, where there are several."""
    parts = model_breakdown(document)
    names = [
        (code(truncated(part["model"], 120)) if part.get("model") else "a model without a name")
        + _calls_and_cost(part, with_cost=len(parts) > 1)
        for part in parts[:MAX_ROWS]
    ]
    hidden = len(parts) - MAX_ROWS
    return ", ".join([*names, f"and {hidden:,} more"] if hidden > 0 else names)


def _calls_and_cost(part: JsonObject, *, with_cost: bool) -> str:
    cost = cost_or_known(part.get("cost_usd"), part.get("known_cost_usd"))
    facts = [call_count(part), f"cost {cost}" if with_cost else None]
    shown = ", ".join(fact for fact in facts if fact)
    return f" ({shown})" if shown else ""


def _problems(document: JsonObject) -> str:
    problems = [
        f"* **{label}**: {escape(truncated(problem_text(problem), 200))}"
        for key, label in _PROBLEMS.items()
        for problem in document[key]
    ]
    return "## Problems\n\n" + "\n".join(problems[:MAX_ROWS]) + _more(len(problems)) if problems else ""


def problem_text(problem: JsonObject) -> str:
    """An error or a warning of a document on one line."""
    kind = problem.get("type")
    return f"{kind}: {problem['message']}" if kind else problem["message"]


def _verify() -> str:
    return (
        "## Verify\n\n"
        "```console\n$ runcard verify .\n$ sha256sum -c SHA256SUMS\n```\n\n"
        "`metadata.json` holds the whole record, `experiment.jsonl` the events, one per line."
    )


def _rerun(document: JsonObject) -> str:
    generation = document["generation"]
    command = generation.get("command")
    if not command:
        return ""
    is_by_program = is_recorded_by_program(document)
    kind = program_kind(command) if is_by_program else ProgramKind.PROGRAM
    if kind is ProgramKind.PROGRAM:
        about = _WHOLE_PROGRAM if is_by_program else "It runs this command and compares the results:"
        return f"{_RERUN}\n\n{about}\n\n```console\n$ {command_line(command)}\n```"
    if kind is not ProgramKind.NOTEBOOK:
        return f"## Run again\n\n{_NO_PROGRAM[kind]}"
    if notebook := generation.get("notebook"):
        return f"{_RERUN}\n\nIt runs the notebook {code(notebook)} with `jupyter execute` and compares the results."
    return f"{_RERUN}\n\n{_UNKNOWN_NOTEBOOK}"
