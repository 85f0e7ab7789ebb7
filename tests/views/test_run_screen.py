"""The screen that `runcard show` prints."""

from typing import Any

import pytest

from runcard.views.run_readme import readme
from runcard.views.run_screen import run_screen
from views.samples import run

FILES = [("notes.txt", 12), ("personas/1.json", 2048)]


def screen(document: dict[str, Any], status: str | None = "completed", **more: Any) -> list[str]:
    return run_screen("outputs/2026-11-15_101500", document, status, more.pop("files", FILES), **more)


def test_the_screen_is_as_it_was_agreed() -> None:
    assert screen(run()) == [
        "run-01jcqz8v4n6q8s0t  completed",
        "",
        "  directory   outputs/2026-11-15_101500",
        "  experiment  personas",
        "  started     2026-11-15T10:15:00.123Z",
        "  duration    2 min 15 s",
        "  command     python generate.py --name 'Ada L.'",
        "  exit code   0",
        "  labels      team=ux",
        "  related     parent run-01jcqz8v00000000",
        "",
        "Configuration",
        "  model          claude-sonnet-4-5-20250929",
        "  provider       anthropic",
        "  persona_count  3",
        "  strict         true",
        "  seed           null",
        '  steps          ["read", "write"]',
        "  git            4be1c0ffee0d + uncommitted changes",
        "  python         3.12.0",
        "  platform       linux",
        "  packages       2",
        "",
        "Cost",
        "  total   $0.26694 (by the price table)",
        "  input   45,230 (1,200 read from the cache, 300 written to the cache)",
        "  output  8,750",
        "  counts  reported by the vendor",
        "  calls   3; median 1.2 s, p95 3.1 s, longest 3.1 s; first token after 0.4 s (median)",
        "  by step",
        "    extract: $0.10, 30,230 in, 1,750 out",
        "    (no step): $0.16694, 15,000 in, 7,000 out",
        "",
        "Inputs",
        "  in/a.md  812 B",
        "  in/b.md",
        "",
        "Files",
        "  notes.txt        12 B",
        "  personas/1.json  2.0 kB",
        "",
        "Problems",
        "  warning: input: no file matches in/c.md",
    ]


@pytest.mark.parametrize(
    ("code", "errors", "said"),
    [
        (137, [{"type": "killed", "message": "x"}], "137 (killed by SIGKILL)"),
        (143, [{"type": "killed", "message": "x"}], "143 (killed by SIGTERM)"),
        (137, [], "137"),  # the command itself exited with it
        (1, [{"type": "killed", "message": "x"}], "1"),
    ],
)
def test_the_exit_code_of_a_killed_command_names_the_signal(code: int, errors: list[Any], said: str) -> None:
    assert f"  exit code   {said}" in screen(run(generation={"exit_code": code}, errors=errors), "failed")


def test_what_is_not_there_takes_no_line() -> None:
    nothing: dict[str, Any] = dict.fromkeys(("input_tokens", "output_tokens", "total_cost_usd"))
    document = run(
        generation={"experiment_name": None, "command": None, "exit_code": None, "labels": None},
        configuration={"model": None, "provider": None, "persona_count": None, "strict": None, "steps": None},
        data_sources={"files": None},
        environment={"git": {"commit": None}, "packages": None, "python_version": None},
        costs=nothing,
        token_usage=None,
        relations=None,
        errors=None,
        warnings=None,
    )
    assert screen(document, files=()) == [
        "run-01jcqz8v4n6q8s0t  completed",
        "",
        "  directory   outputs/2026-11-15_101500",
        "  experiment  exp-01jcqz8v3k5m7p9r",
        "  started     2026-11-15T10:15:00.123Z",
        "  duration    2 min 15 s",
        "",
        "Configuration",
        "  persona_count  null",
        "  strict         null",
        "  seed           null",
        "  steps          null",
        "  platform       linux",
        "",
        "Cost",
        "  no model calls recorded",
    ]


def test_a_setting_that_is_null_or_empty_has_a_line_and_an_unknown_model_has_none() -> None:
    lines = screen(run(configuration={"model": None, "persona_count": None, "strict": "", "seed": 0}))
    start = lines.index("Configuration") + 1
    assert lines[start : start + 4] == [
        "  provider       anthropic",
        "  persona_count  null",
        '  strict         ""',
        "  seed           0",
    ]


def test_the_text_of_a_problem_is_cut_only_on_a_terminal() -> None:
    document = run(errors=[{"type": "ValueError", "message": "long " * 100 + "\x1b[31mend"}])
    [cut] = [line for line in screen(document) if "ValueError" in line]
    [whole] = [line for line in screen(document, cut_texts=False) if "ValueError" in line]
    assert cut.endswith("…")
    assert len(cut) < 120
    assert whole.endswith("long \\x1b[31mend")


@pytest.mark.parametrize(
    ("status", "duration", "took"),
    [
        ("running", None, None),
        ("interrupted", None, "  duration    unknown"),
        ("interrupted", 3, "  duration    at least 3 s (estimated: the end was not observed)"),
    ],
)
def test_how_long_it_took_is_said_when_it_has_ended(
    status: str, duration: float | None, took: str | None
) -> None:
    estimated = [] if duration is None else ["/generation/duration_seconds"]
    generation = {"duration_seconds": duration, "estimated": estimated}
    lines = [line for line in screen(run(generation=generation), status) if "duration" in line]
    assert lines == ([] if took is None else [took])


def test_a_cost_that_is_partly_known_is_said_to_be_and_models_are_told_apart() -> None:
    parts = [
        {"model": "a", "cost_usd": 0.25, "input": 1, "output": None},
        {"model": None, "cost_usd": None, "input": None, "output": 2},
    ]
    usage = {"breakdown_by_model": parts, "breakdown_by_step": parts[:1]}
    lines = screen(run(costs={"total_cost_usd": None}, token_usage=usage))
    assert "  total   ≥ $0.25 (a part is unknown)" in lines
    place = lines.index("  by model")
    assert lines[place + 1 : place + 3] == [
        "    a: $0.25, 1 in, unknown out",
        "    (no model): unknown, unknown in, 2 out",
    ]


def test_a_single_call_has_one_time_and_no_median() -> None:
    times = dict.fromkeys(("mean", "p50", "p95", "max"), 1.2)
    performance = {"calls": 1, "latency_seconds": times, "time_to_first_token_seconds": times}
    assert "  calls   1; 1.2 s; first token after 1.2 s" in screen(run(performance=performance))


def test_failures_that_the_meter_saw_are_said_in_words() -> None:
    types = ["rate_limit_error", "client-gone", "ended", "unreachable"]
    failed = [{"type": name, "status": 429 if "_" in name else None, "calls": 1} for name in types]
    said = "1 × rate_limit_error 429, 1 × cancelled, 1 × unfinished, 1 × unreachable"
    assert f"  failed  {said}" in screen(run(token_usage={"failed_calls": failed}))


def test_a_witness_without_a_call_to_compare_says_so() -> None:
    witness = {"source": "otlp", "reported": 0, "metered": 0, "agreeing": 0}
    assert "  witness  no calls of Claude Code to compare" in screen(run(witness=witness))


@pytest.mark.parametrize(
    ("reproduce", "said"),
    [
        (None, "no model calls recorded"),
        ({"meter": False}, "no model calls recorded (the meter was off: --no-meter)"),
    ],
)
def test_a_run_without_calls_says_whether_it_was_metered(reproduce: dict[str, Any] | None, said: str) -> None:
    nothing: dict[str, Any] = dict.fromkeys(("input_tokens", "output_tokens", "total_cost_usd"))
    document = run(costs=nothing, token_usage=None, performance=None, reproduce=reproduce)
    assert f"  {said}" in screen(document)
    assert f"## Cost\n\n{said.capitalize()}.\n" in readme(document, FILES)


def test_totals_that_were_only_stated_are_shown() -> None:
    costs = {"input_tokens": None, "cache_read_tokens": None, "cache_write_tokens": None, "cost_source": None}
    lines = screen(run(costs=costs, token_usage=None))
    assert "  total   $0.26694" in lines
    assert "  input   unknown" in lines


def test_what_was_amended_stands_last() -> None:
    assert screen(run(), amendments=["notes.txt: amended by ada because x"])[-3:] == [
        "",
        "Amendments",
        "  notes.txt: amended by ada because x",
    ]


def test_a_run_that_kept_its_secrets_says_so() -> None:
    kept = "  masking     off: secrets were kept"
    assert kept in screen(run(keep_secrets=True))
    assert kept not in screen(run())


def test_plain_paths_of_older_documents_are_listed() -> None:
    assert "  in/a.md" in screen(run(data_sources={"files": ["in/a.md"]}))


def test_long_lists_are_cut_so_that_it_stays_one_screen() -> None:
    many = [(f"{number}.txt", 1) for number in range(1000)]
    document = run(
        configuration={f"setting {number}": "x" * 500 for number in range(100)},
        data_sources={"files": [{"path": name} for name, _ in many]},
        errors=[{"message": "x" * 500}] * 100,
        token_usage={"breakdown_by_step": [{"step": str(number)} for number in range(100)]},
    )
    lines = screen(document, files=many, amendments=["x"] * 100)
    assert len(lines) < 100
    assert max(map(len, lines)) < 140
    assert sum("more" in line for line in lines) == 6


def test_nothing_hostile_reaches_the_terminal() -> None:
    evil = "\x1b[2J\u202e\nx"
    document = run(
        generation={"experiment_name": evil, "labels": {evil: evil}, "command": [evil]},
        configuration={evil: evil},
        data_sources={"files": [{"path": evil}]},
        relations=[{"type": "parent", "id": evil}],
        errors=[{"type": evil, "message": evil}],
        token_usage={"breakdown_by_step": [{"step": evil}, {"step": evil}]},
    )
    lines = screen(document, files=[(evil, 1)], amendments=[evil])
    assert not set("".join(lines)) & set("\x1b\u202e\n")


def test_the_version_of_the_program_is_shown() -> None:
    document = run()
    document["environment"]["persona_version"] = "0.9.0"
    assert "  persona version  0.9.0" in screen(document)
