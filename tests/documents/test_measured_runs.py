"""What the runs of an agent used: each process counts once, and what is not known is not guessed."""

from typing import Any

import pytest

from runcard.documents.session.measured_runs import MeasuredRuns


def measured(*ends: dict[str, Any], **agents: str) -> MeasuredRuns:
    """The runs of each agent, by their letters, and their ends."""
    runs = MeasuredRuns()
    for agent, letters in agents.items():
        for letter in letters:
            runs.add_run(agent, letter)
    for end in ends:
        runs.add_end(end)
    return runs


def end(run_id: object, cpu: object = None, peak: object = None, **more: object) -> dict[str, Any]:
    return {"run_id": run_id, "resources": {"cpu_seconds": cpu, "peak_memory_bytes": peak}, **more}


def test_runs_of_several_processes_add_up_and_the_largest_one_is_the_peak() -> None:
    runs = measured(end("x", 1.5, 700), end("y", 0.25, 900), worker="xy", silent="")
    assert (runs.cpu_seconds("worker"), runs.peak_memory_bytes("worker")) == (1.75, 900)
    assert (runs.cpu_seconds("silent"), runs.peak_memory_bytes("silent")) == (None, None)


def test_nothing_used_is_zero_and_not_unknown() -> None:
    runs = measured(end("x", 0, 0), worker="x")
    assert (runs.cpu_seconds("worker"), runs.peak_memory_bytes("worker")) == (0, 0)


@pytest.mark.parametrize("other", [[], [end("y")], [{"run_id": "y", "resources": {}}]])
def test_a_part_of_the_runs_is_not_taken_for_all(other: list[dict[str, Any]]) -> None:
    runs = measured(end("x", 1.5, 700), *other, worker="xy")
    assert (runs.cpu_seconds("worker"), runs.peak_memory_bytes("worker")) == (None, None)


def test_a_process_counts_once_however_many_runs_it_records() -> None:
    """Each of its runs measures all that the process has used so far."""
    ends = [end("x", 1, process="p"), end("y", 3, process="p"), end("z", 5, process="q")]
    assert measured(*ends, worker="xyz").cpu_seconds("worker") == 8


def test_a_process_that_served_several_agents_belongs_to_none() -> None:
    ends = [end("x", 1, 50, process="p"), end("y", 3, 70, process="p"), end("z", 5, process="q")]
    runs = measured(*ends, worker="x", writer="y", other="z")
    assert [runs.cpu_seconds(agent) for agent in ("worker", "writer", "other")] == [None, None, 5]
    assert (runs.peak_memory_bytes("worker"), runs.peak_memory_bytes("writer")) == (50, 70)


def test_a_run_inside_another_is_a_part_of_it() -> None:
    inner = end("inner", 2, parent="o")
    outer = end("o", 3)
    runs = MeasuredRuns()
    for run in ("o", "inner"):
        runs.add_run("worker", run)
    runs.add_end(inner)
    runs.add_end(outer)
    assert runs.cpu_seconds("worker") == 3


def test_a_run_that_outlived_the_one_around_it_is_not_wholly_in_its_figure() -> None:
    assert measured(end("o", 3), end("i", 2, parent="o"), worker="oi").cpu_seconds("worker") is None
    same = [end("o", 3, process="p"), end("i", 4, process="p", parent="o")]
    assert measured(*same, worker="oi").cpu_seconds("worker") == 4


def test_a_run_of_another_agent_inside_makes_the_outer_one_unknown() -> None:
    runs = measured(end("i", 2, parent="o"), end("o", 3), worker="o", helper="i")
    assert (runs.cpu_seconds("worker"), runs.cpu_seconds("helper")) == (None, 2)


@pytest.mark.parametrize("figure", [-1, True, "2", [], float("inf"), float("nan"), 10**16])
def test_a_figure_that_is_no_measurement_is_unknown(figure: object) -> None:
    runs = measured(end("x", figure, figure), worker="x")
    assert (runs.cpu_seconds("worker"), runs.peak_memory_bytes("worker")) == (None, None)


def test_the_first_end_of_a_run_counts_and_damaged_ones_do_not() -> None:
    ends = [end(7, 1), {"run_id": "x", "resources": []}, end("x", 1), end("x", 5)]
    assert measured(*ends, worker="x").cpu_seconds("worker") == 1
    assert measured(end("x", 1, process=7, parent=[]), worker="x").cpu_seconds("worker") == 1
