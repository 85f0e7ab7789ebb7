"""How a run is begun and ended: blocks, coroutines and functions, one inside the other, in threads and in tasks."""

import asyncio
import json
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

import runcard
from runcard.errors import StoreError, UsageError
from runcard.recording.open_runs import remove_open_run
from runs.runs import read


def runs(outputs: Path) -> list[dict[str, Any]]:
    return [read(path.parent) for path in sorted(outputs.glob("2*/metadata.json"))]


def status(run: runcard.Run) -> str:
    said: str = read(run.path)["generation"]["status"]
    return said


def test_a_block_is_a_run_that_is_there_from_the_first_moment(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        assert isinstance(run, runcard.Run)
        assert run.path.parent == outputs
        assert status(run) == "running"
        assert read(run.path)["generation"]["run_id"] == run.id
        assert not (run.path / "SHA256SUMS").exists()
    assert status(run) == "completed"
    assert (run.path / "SHA256SUMS").exists()


def test_the_store_is_called_outputs_unless_told(outputs: Path) -> None:
    with runcard.record(strict=True) as run:
        pass
    assert run.path.parent == outputs


def test_the_name_of_a_run_is_its_start_and_two_of_one_second_differ(outputs: Path) -> None:
    names = []
    for _ in range(3):
        with runcard.record(str(outputs), strict=True) as run:
            names.append(run.path.name)
    assert len(set(names)) == 3
    first = read(outputs / names[0])["generation"]["timestamp_start"]
    assert names[0] == f"{first[:10]}_{first[11:19].replace(':', '')}"


def test_an_async_block_is_a_run_as_well(outputs: Path) -> None:
    async def work() -> runcard.Run:
        async with runcard.record(outputs, strict=True) as run:
            await asyncio.sleep(0)
            assert runcard.current_run() is run
        return run

    assert status(asyncio.run(work())) == "completed"


def test_each_call_of_a_recorded_function_is_a_run_of_its_own(outputs: Path) -> None:
    @runcard.record(outputs, experiment="sums", strict=True)
    def add(one: int, other: int = 2) -> int:
        """Adds."""
        run = runcard.current_run()
        assert run is not None
        run.log("added", one=one)
        return one + other

    assert (add(1), add(2, other=5)) == (3, 7)
    assert (add.__name__, add.__doc__) == ("add", "Adds.")
    documents = runs(outputs)
    assert len({document["generation"]["run_id"] for document in documents}) == 2
    assert {document["generation"]["experiment_name"] for document in documents} == {"sums"}


def test_each_call_of_a_recorded_coroutine_is_a_run_of_its_own(outputs: Path) -> None:
    @runcard.record(outputs, strict=True)
    async def add(one: int) -> tuple[int, str]:
        await together.wait()
        run = runcard.current_run()
        assert run is not None
        return one + 1, run.id

    together = asyncio.Barrier(2)

    async def both() -> tuple[tuple[int, str], ...]:
        return await asyncio.gather(add(1), add(2))

    results = asyncio.run(both())
    assert [number for number, _ in results] == [2, 3]
    assert {document["generation"]["run_id"] for document in runs(outputs)} == {own for _, own in results}


def test_a_recorded_function_that_fails_is_a_failed_run(outputs: Path) -> None:
    @runcard.record(outputs, strict=True)
    def fail() -> None:
        raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        fail()
    (document,) = runs(outputs)
    assert document["generation"]["status"] == "failed"
    assert [(error["type"], error["message"]) for error in document["errors"]] == [
        ("LookupError", "nothing there")
    ]


@pytest.mark.parametrize(
    ("error", "status", "code", "errors"),
    [
        (ValueError("no"), "failed", None, ["no"]),
        (KeyboardInterrupt(), "interrupted", None, []),
        (asyncio.CancelledError(), "interrupted", None, []),
        (SystemExit(), "completed", 0, []),
        (SystemExit(0), "completed", 0, []),
        (SystemExit(3), "failed", 3, ["3"]),
        (SystemExit(True), "failed", 1, ["True"]),
        (SystemExit("no such file"), "failed", 1, ["no such file"]),
        (GeneratorExit(), "failed", None, [""]),
    ],
    ids=repr,
)
def test_the_exception_passes_unchanged_and_decides_how_the_run_ended(
    outputs: Path, error: BaseException, status: str, code: int | None, errors: list[str]
) -> None:
    with pytest.raises(type(error)) as raised, runcard.record(outputs, strict=True):
        raise error
    assert raised.value is error
    (document,) = runs(outputs)
    assert (document["generation"]["status"], document["generation"]["exit_code"]) == (status, code)
    assert [said["message"] for said in document["errors"]] == errors


class Unspeakable(Exception):  # noqa: N818 - it is about its text
    """An exception that cannot be shown."""

    def __str__(self) -> str:
        raise RuntimeError("not even this")


def test_an_exception_that_cannot_be_shown_as_text_passes_as_well(outputs: Path) -> None:
    with pytest.raises(Unspeakable), runcard.record(outputs, strict=True):
        raise Unspeakable
    (document,) = runs(outputs)
    assert document["errors"][0]["type"] == "Unspeakable"
    assert "cannot be shown" in document["errors"][0]["message"]


def test_a_message_with_bytes_of_a_name_that_is_not_text_is_kept(outputs: Path) -> None:
    with pytest.raises(FileNotFoundError), runcard.record(outputs, strict=True):
        Path("caf\udce9").read_bytes()
    (document,) = runs(outputs)
    assert "caf\\udce9" in document["errors"][0]["message"]


def test_a_run_inside_another_names_it_as_its_parent(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as outer:
        with runcard.record(outputs, strict=True) as inner:
            assert runcard.current_run() is inner
            with runcard.record(outputs, parent="run-somebody-elses", strict=True) as innermost:
                pass
            assert runcard.current_run() is inner
        assert runcard.current_run() is outer
    assert runcard.current_run() is None
    assert read(outer.path)["relations"] == []
    assert read(inner.path)["relations"] == [{"type": "parent", "id": outer.id}]
    assert read(innermost.path)["relations"] == [{"type": "parent", "id": "run-somebody-elses"}]


def test_the_parent_may_come_from_the_environment(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNCARD_PARENT", "run-of-the-caller")
    with runcard.record(outputs, strict=True) as outer, runcard.record(outputs, strict=True) as inner:
        pass
    assert read(outer.path)["relations"] == [{"type": "parent", "id": "run-of-the-caller"}]
    assert read(inner.path)["relations"] == [{"type": "parent", "id": outer.id}]


def test_threads_have_runs_of_their_own(outputs: Path) -> None:
    together = threading.Barrier(4)

    def work(number: int) -> tuple[str, str | None]:
        with runcard.record(outputs, strict=True, config={"number": number}) as run:
            together.wait(10)
            found = runcard.current_run()
            run.log("worked", number=number)
        return run.id, found.id if found else None

    with runcard.record(outputs, strict=True), ThreadPoolExecutor(4) as pool:
        results = list(pool.map(work, range(4)))
    assert all(own == seen for own, seen in results)
    assert len({own for own, _ in results}) == 4
    for document in runs(outputs):
        assert (
            document["relations"] == []
        )  # a thread may have nothing to do with the run that is open beside it


def in_a_thread(function: Callable[[], Any]) -> Any:
    """What a function returns in a thread without a context, as `threading` and executors start them."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result(60)


def test_a_thread_finds_the_only_open_run(outputs: Path) -> None:
    assert in_a_thread(runcard.current_run) is None
    with runcard.record(outputs, strict=True) as run:
        assert in_a_thread(runcard.current_run) is run
        assert asyncio.run(asyncio.to_thread(runcard.current_run)) is run
        assert anyio.run(anyio.to_thread.run_sync, runcard.current_run) is run
    assert runcard.current_run() is None
    assert in_a_thread(runcard.current_run) is None


def test_a_thread_beside_nested_runs_finds_the_outer_one_with_a_warning(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as outer:
        with runcard.record(outputs, strict=True) as inner:
            with pytest.warns(
                runcard.RuncardWarning, match="the current run is uncertain: 2 runs are open"
            ) as warned:
                assert in_a_thread(lambda: runcard.current_run()) is outer  # noqa: PLW0108 - the user's line
            assert [warning.filename for warning in warned] == [__file__]
            assert str(warned[0].message).endswith("; pass the run to the thread, or the context")
            assert runcard.current_run() is inner
        assert in_a_thread(runcard.current_run) is outer


def test_a_thread_beside_runs_that_have_nothing_in_common_finds_none_with_a_warning(outputs: Path) -> None:
    def work() -> None:
        with runcard.record(outputs, strict=True):
            together.wait(60)
            together.wait(60)

    together = threading.Barrier(3)
    with ThreadPoolExecutor(2) as pool:
        working = [pool.submit(work) for _ in range(2)]
        together.wait(60)
        with pytest.warns(runcard.RuncardWarning, match="2 runs are open") as warned:
            assert runcard.current_run() is None
        assert warned[0].filename == __file__
        together.wait(60)
        for done in working:
            done.result(60)
    assert runcard.current_run() is None


def test_a_program_in_a_recorded_command_finds_its_own_run_first(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with runcard.record(outputs, strict=True) as parent:
        for name, value in parent.environ.items():
            monkeypatch.setenv(name, value)
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(runcard.current_run).result(60) is parent
            remove_open_run(parent)  # as in another process
            found = pool.submit(runcard.current_run).result(60)
            assert found is not None
            assert (found.id, found is parent) == (parent.id, False)
            with runcard.record(outputs, strict=True) as own:
                assert pool.submit(runcard.current_run).result(60) is own


def test_a_forked_child_that_leaves_the_block_has_no_open_run(outputs: Path) -> None:
    recording = runcard.record(outputs, strict=True)
    with recording:
        if (child := os.fork()) == 0:
            try:
                recording.__exit__(None, None, None)
                os._exit(0 if in_a_thread(runcard.current_run) is None else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert in_a_thread(runcard.current_run) is not None


def test_tasks_have_runs_of_their_own_and_share_the_one_around_them(outputs: Path) -> None:
    async def work(run: runcard.Run) -> str:
        assert runcard.current_run() is run
        async with runcard.record(outputs, strict=True) as own:
            await together.wait()
            assert runcard.current_run() is own
        assert runcard.current_run() is run
        return own.id

    together = asyncio.Barrier(3)

    async def main() -> tuple[str, list[str]]:
        async with runcard.record(outputs, strict=True) as run:
            return run.id, await asyncio.gather(*(work(run) for _ in range(3)))

    outer, inner = asyncio.run(main())
    parents = {
        document["generation"]["run_id"]: [relation["id"] for relation in document["relations"]]
        for document in runs(outputs)
    }
    assert parents == {outer: [], **{own: [outer] for own in inner}}


def test_threads_may_share_a_run(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: run.log("page.read", number=number), range(200)))
    lines = [json.loads(line) for line in (run.path / "experiment.jsonl").read_text().splitlines()]
    assert sorted(line["payload"]["number"] for line in lines if line["event"] == "page.read") == list(
        range(200)
    )
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    times = [line["timestamp"] for line in lines]
    assert times == sorted(times)
    assert next(runcard.verify(run.path)).verdict.findings == ()


def test_a_thread_that_goes_on_talking_changes_nothing_that_is_sealed(outputs: Path) -> None:
    def talk(run: runcard.Run) -> None:
        while True:
            run.log("page.read")

    with ThreadPoolExecutor(1) as pool:
        for _ in range(5):
            with runcard.record(outputs, strict=True) as run:
                talking = pool.submit(talk, run)
                for number in range(100):  # so that sealing lasts
                    (run.path / f"{number}.txt").write_text("made")
            with pytest.raises(StoreError, match="is closed"):
                talking.result(60)
            assert next(runcard.verify(run.path)).verdict.findings == ()


def test_a_run_shows_only_what_is_documented(outputs: Path) -> None:
    methods = {"set_config", "add_input", "add_usage", "set_costs", "add_error", "add_warning"}
    methods |= {"set_labels", "relate", "log", "log_metric"}
    with runcard.record(outputs, strict=True) as run:
        public = {name for name in dir(run) if not name.startswith("_")}
        assert public == {"id", "path", "config", "environ", "finish", *methods}
        assert repr(run) == f"<runcard.Run {run.id} running {run.path}>"
    assert repr(run) == f"<runcard.Run {run.id} completed {run.path}>"
    recorder = runcard.MetadataRecorder()
    public = {name for name in dir(recorder) if not name.startswith("_")}
    own = {"start", "add_data_source", "add_checksum", "finish", "document", "save"}
    assert public == methods | own
    assert repr(recorder) == "<runcard.MetadataRecorder not started>"
    recorder.start()
    run_id = recorder.document().to_dict()["generation"]["run_id"]
    assert repr(recorder) == f"<runcard.MetadataRecorder {run_id} running>"
    recorder.finish("failed")
    assert repr(recorder) == f"<runcard.MetadataRecorder {run_id} failed>"


def test_a_recording_begins_once(outputs: Path) -> None:
    recording = runcard.record(outputs, strict=True)
    with recording:
        pass
    with pytest.raises(UsageError, match="already started") as raised, recording:
        pass
    assert raised.value.hint == "call runcard.record again for another run"


def test_leaving_what_was_never_entered_does_nothing(outputs: Path) -> None:
    runcard.record(outputs).__exit__(None, None, None)
    assert not outputs.exists()


def test_a_generator_that_is_dropped_ends_its_run(outputs: Path) -> None:
    def pages() -> Iterator[int]:
        with runcard.record(outputs, strict=True):
            yield 1
            yield 2

    reading = pages()
    next(reading)
    reading.close()  # type: ignore[attr-defined]
    assert runcard.current_run() is None
    assert [document["generation"]["status"] for document in runs(outputs)] == ["failed"]


def test_after_its_end_a_run_takes_no_more_events(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        pass
    with pytest.raises(runcard.RuncardError, match="closed"):
        run.log("too.late")
    with runcard.record(outputs) as run:
        pass
    with pytest.warns(
        runcard.RuncardWarning, match="^the run in .* is closed: this call was not recorded"
    ) as warned:
        run.log("too.late")
    assert warned[0].filename == __file__  # where the user's mistake is
    with pytest.warns(runcard.RuncardWarning, match="is closed: this call was not recorded") as warned:
        run.add_usage({"input_tokens": 1, "output_tokens": 2}, model="claude-sonnet-4-5")
    assert [warning.filename for warning in warned] == [__file__]
    assert next(runcard.verify(run.path)).verdict.findings == ()


def test_an_experiment_that_is_probably_mistyped_is_pointed_out(
    outputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiments/personas").mkdir(parents=True)
    with pytest.warns(
        runcard.RuncardWarning, match=r"experiments/persona, .* did you mean personas\?"
    ) as warned:
        runcard.record(outputs, experiment="persona")
    assert [warning.filename for warning in warned] == [__file__]
    runcard.record(outputs, experiment="personas")  # warnings are errors here
    runcard.record(outputs, experiment="billing")
