"""One screen of text about a run.

Long lists are cut, so that it stays one screen; the whole record is in the files. What is hostile to a terminal is escaped.
"""

from collections.abc import Sequence
from shlex import join

from runcard.encoding import JsonObject
from runcard.views.formats import duration, money, source_text, token_count
from runcard.views.run_readme import problem_text, total_cost
from runcard.views.screen_parts import MOST, Pair, cut, fields, listed, place_of, section, shortened


def run_screen(
    path: str,
    document: JsonObject,
    status: str | None,
    files: Sequence[tuple[str, int]],
    amendments: Sequence[str] = (),
) -> list[str]:
    """A run, line by line: what it was, what it made, from what, with what, for how much."""
    generation = document["generation"]
    return [
        f"{generation['run_id'] or 'a run without an id'}  {status or 'unknown'}",
        "",
        *fields(_about(path, generation, status, document.get("relations") or ())),
        *section("With", _settings(document)),
        *section("Cost", _cost(document)),
        *section("Inputs", listed(_inputs(document["data_sources"]))),
        *section("Files", listed(files)),
        *section("Trouble", cut(_trouble(document))),
        *section("Amended", cut([f"  {shortened(said)}" for said in amendments])),
    ]


def _about(
    path: str, generation: JsonObject, status: str | None, relations: Sequence[JsonObject]
) -> list[Pair]:
    took = duration(generation["duration_seconds"])
    if generation.get("estimated"):
        took += " (estimated: nobody saw the end)"
    return [
        place_of(path),
        ("experiment", generation.get("experiment_name") or generation["experiment_id"]),
        ("started", generation["timestamp_start"]),
        ("took", None if status == "running" else took),
        ("command", join(generation.get("command") or [])),
        ("exit code", generation.get("exit_code")),
        ("labels", ", ".join(f"{key}={value}" for key, value in (generation.get("labels") or {}).items())),
        ("related", ", ".join(f"{relation['type']} {relation['id']}" for relation in relations)),
    ]


def _settings(document: JsonObject) -> list[str]:
    chosen: list[Pair] = [
        (key, value) for key, value in document["configuration"].items() if value is not None
    ]
    more = len(chosen) - MOST
    cut: list[Pair] = [("…", f"and {more:,} more")] if more > 0 else []
    return fields([*chosen[:MOST], *cut, *_environment(document["environment"])])


def _environment(environment: JsonObject) -> list[Pair]:
    git = environment.get("git") or {}
    commit = git.get("commit")
    return [
        ("git", commit and commit[:12] + (" + uncommitted changes" if git.get("dirty") else "")),
        ("python", environment.get("python_version")),
        ("platform", environment.get("platform")),
        ("packages", len(environment["packages"]) if environment.get("packages") else None),
    ]


def _cost(document: JsonObject) -> list[str]:
    costs, usage = document["costs"], document.get("token_usage") or {}
    has_calls = usage.get("breakdown_by_step") or usage.get("breakdown_by_model")
    if not has_calls and all(
        costs[key] is None for key in ("input_tokens", "output_tokens", "total_cost_usd")
    ):
        return ["  nothing is known: no call of a model was recorded"]
    source = costs.get("token_source")
    lines = fields(
        [
            ("total", total_cost(document)),
            ("input", token_count(costs["input_tokens"]) + _of_which(costs)),
            ("output", token_count(costs["output_tokens"])),
            ("tokens", source and source_text(source)),
        ]
    )
    for name in ("step", "model"):
        parts = usage.get(f"breakdown_by_{name}") or []
        if len(parts) > 1:
            lines += [f"  by {name}", *cut([_part(part, name) for part in parts])]
    return lines


def _part(part: JsonObject, name: str) -> str:
    counts = f"{token_count(part.get('input'))} in, {token_count(part.get('output'))} out"
    return f"    {shortened(part.get(name) or f'(no {name})')}: {money(part.get('cost_usd'))}, {counts}"


def _of_which(costs: JsonObject) -> str:
    parts = [
        f"{costs[key]:,} {word}"
        for key, word in (
            ("cache_read_tokens", "read from the cache"),
            ("cache_write_tokens", "written to it"),
        )
        if costs.get(key)
    ]
    return f" ({', '.join(parts)})" if parts else ""


def _inputs(sources: JsonObject) -> list[tuple[str, int | None]]:
    files = [file if isinstance(file, dict) else {"path": file} for file in sources["files"] or ()]
    return [(file["path"], file.get("bytes")) for file in files]


def _trouble(document: JsonObject) -> list[str]:
    return [
        f"  {word}: {shortened(problem_text(problem))}"
        for key, word in (("errors", "error"), ("warnings", "warning"))
        for problem in document.get(key) or ()
    ]
