"""The screen that `runcard show` prints for a run.

Long lists are cut, so that it stays one screen; the whole record is in the files. Control characters are escaped.
"""

from collections.abc import Sequence
from signal import Signals

from runcard.documents.run.application import labelled_versions
from runcard.documents.run.fields import has_calls, model_breakdown
from runcard.documents.run.input_state import CHANGED, GONE, UNCHECKED, InputState
from runcard.encoding import JsonObject
from runcard.files import printable
from runcard.views.call_times import call_count, call_times, witness_line
from runcard.views.charges import cached_tokens, server_tools, special_prices
from runcard.views.formats import (
    command_line,
    money,
    run_duration,
    settings_shown,
    token_count,
    total_or_known,
)
from runcard.views.missing_usage import counts_source, failed_calls, missing_usage, no_calls, total_tokens
from runcard.views.run_readme import problem_text, total_cost
from runcard.views.screen_parts import (
    MAX_LINES,
    SECRETS_KEPT,
    SIGNATURES,
    Pair,
    cut,
    fields,
    file_list,
    key_values,
    location,
    one_line,
    section,
)

_PROBLEMS = {"errors": "error", "warnings": "warning"}
_INPUT_STATES = {CHANGED: "changed since", GONE: "gone", UNCHECKED: "not checked"}
_MOST_METRICS = 12
_MAX_NAMES = 3  # of inputs in a line


def run_screen(  # noqa: PLR0913 - one for each source of the screen
    path: str,
    document: JsonObject,
    status: str | None,
    files: Sequence[tuple[str, int]],
    amendments: Sequence[str] = (),
    signatures: Sequence[str] = (),
    inputs: Sequence[InputState] = (),
    *,
    so_far: bool = False,
    cut_texts: bool = True,
) -> list[str]:
    """A run, line by line; `inputs` as they are now. `so_far`: it is not closed, so more may come. `cut_texts` cuts long texts of problems."""
    generation = document["generation"]
    return [
        f"{generation['run_id'] or 'a run without an id'}  {status or 'unknown'}",
        "",
        *fields(_about(path, document, status)),
        *section("Configuration", _configuration(document)),
        *section("Cost so far" if so_far else "Cost", _cost(document)),
        *section("Metrics", _metrics(document)),
        *section("Inputs", [*file_list(_inputs(document["data_sources"])), *_changes(inputs)]),
        *section("Files", file_list(files)),
        *section("Problems", cut(_problems(document, cut_texts=cut_texts))),
        *section("Amendments", cut([f"  {one_line(amendment)}" for amendment in amendments])),
        *section(SIGNATURES, cut([f"  {one_line(signature)}" for signature in signatures])),
    ]


def _about(path: str, document: JsonObject, status: str | None) -> list[Pair]:
    generation = document["generation"]
    relations = document.get("relations") or ()
    return [
        location(path),
        ("experiment", generation.get("experiment_name") or generation["experiment_id"]),
        ("started", generation["timestamp_start"]),
        ("duration", None if status == "running" else run_duration(generation)),
        ("function", generation.get("function")),
        ("command", command_line(generation.get("command") or [])),
        ("exit code", _exit_code(document)),
        ("labels", key_values(generation.get("labels"))),
        ("related", ", ".join(f"{relation['type']} {relation['id']}" for relation in relations)),
        ("masking", SECRETS_KEPT if document.get("keep_secrets") else None),
    ]


def _exit_code(document: JsonObject) -> object:
    """The exit code; with the signal if one killed the command."""
    code = document["generation"].get("exit_code")
    killed = any(error.get("type") == "killed" for error in document.get("errors") or ())
    try:
        return f"{code} (killed by {Signals(code - 128).name})" if killed else code
    except (TypeError, ValueError):  # not a signal
        return code


def _configuration(document: JsonObject) -> list[str]:
    values = settings_shown(document["configuration"])
    hidden = len(values) - MAX_LINES
    more: list[Pair] = [("…", f"and {hidden:,} more")] if hidden > 0 else []
    return fields([*values[:MAX_LINES], *more, *_environment(document["environment"])])


def _environment(environment: JsonObject) -> list[Pair]:
    git = environment.get("git") or {}
    commit = git.get("commit")
    return [
        *labelled_versions(environment),
        ("git", commit and commit[:12] + (" + uncommitted changes" if git.get("dirty") else "")),
        ("python", environment.get("python_version")),
        ("platform", environment.get("platform")),
        ("packages", len(environment["packages"]) if environment.get("packages") else None),
    ]


def _cost(document: JsonObject) -> list[str]:
    costs, usage = document["costs"], document.get("token_usage") or {}
    failed = failed_calls(document)
    if not has_calls(document):
        return fields([("failed", failed)]) if failed else [f"  {no_calls(document)}"]
    lines = fields(
        [
            ("total", total_cost(document)),
            ("input", total_tokens(document, "input_tokens") + cached_tokens(costs)),
            ("output", total_tokens(document, "output_tokens")),
            *(("missing", reason) for reason in missing_usage(document)),
            ("counts", counts_source(document)),
            ("tools", server_tools(model_breakdown(document))),
            ("prices", special_prices(costs.get("price_rows"))),
            ("model", _only_model(document)),
            ("calls", call_times(document)),
            ("failed", failed),
            ("witness", witness_line(document)),
        ]
    )
    for name in ("step", "model"):
        parts = usage.get(f"breakdown_by_{name}") or []
        if len(parts) > 1:
            lines += [f"  by {name}", *cut([_cost_part(part, name) for part in parts])]
    return lines


def _metrics(document: JsonObject) -> list[str]:
    if not document.get("metrics"):
        return []
    from runcard.views.metrics import metric_values  # noqa: PLC0415 - most runs have none

    values: list[Pair] = [*metric_values(document)]
    return cut(fields(values), _MOST_METRICS)


def _only_model(document: JsonObject) -> str | None:
    """The model of a run that called only one, unless it is the configured one; several are listed."""
    models = [part.get("model") for part in model_breakdown(document)]
    return models[0] if len(models) == 1 and models[0] != document["configuration"].get("model") else None


def _cost_part(part: JsonObject, name: str) -> str:
    calls = f"{count}, " if (count := call_count(part)) else ""
    counts = f"{token_count(part.get('input'))} in, {token_count(part.get('output'))} out"
    cost = total_or_known(part.get("cost_usd"), part.get("known_cost_usd"), money)
    return f"    {one_line(part.get(name) or f'(no {name})')}: {calls}{cost}, {counts}"


def _inputs(sources: JsonObject) -> list[tuple[str, int | None]]:
    files = [file if isinstance(file, dict) else {"path": file} for file in sources["files"] or ()]
    return [(file["path"], file.get("bytes")) for file in files]


def _changes(inputs: Sequence[InputState]) -> list[str]:
    """The inputs that are not what was read, or not known to be."""
    lines = []
    for state, label in _INPUT_STATES.items():
        paths = [one_line(each.path) for each in inputs if each.state == state]
        more = f", and {len(paths) - _MAX_NAMES:,} more" if len(paths) > _MAX_NAMES else ""
        if paths:
            lines.append(f"  {label}: {', '.join(paths[:_MAX_NAMES])}{more}")
    return lines


def _problems(document: JsonObject, *, cut_texts: bool) -> list[str]:
    form = one_line if cut_texts else printable
    return [
        f"  {label}: {form(problem_text(problem))}"
        for key, label in _PROBLEMS.items()
        for problem in document.get(key) or ()
    ]
