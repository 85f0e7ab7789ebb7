"""What a run says of itself: experiment, labels, trace, inputs, configuration; and what it must never say."""

import json
import os
import re
import subprocess
import sys
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import runcard
from runcard.errors import EncodingError, UsageError
from runcard.observe.clock import Clock
from runcard.recording.start_document import start_document, start_settings
from runs.runs import read

KEY = "sk-ant-" + "api03-" + "Zq8vJ2mX7tLw4RbN9cKd3HfG6pSyE1uA"
TOKEN = "ghp" + "_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzA12"
PASSWORD = "xK9mQ2v" + "Lp7wZt4rB"


def recorded(outputs: Path, **settings: Any) -> dict[str, Any]:
    with runcard.record(outputs, strict=True, **settings) as run:
        pass
    return read(run.path)


def events(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "experiment.jsonl").read_text().splitlines()]


def test_the_same_name_is_the_same_experiment_everywhere(outputs: Path, tmp_path: Path) -> None:
    places = (outputs, outputs, tmp_path / "elsewhere")
    same = [recorded(place, experiment="personas")["generation"] for place in places]
    other = recorded(outputs, experiment="persona")["generation"]
    assert {said["experiment_name"] for said in same} == {"personas"}
    assert len({said["experiment_id"] for said in same}) == 1
    assert other["experiment_id"] != same[0]["experiment_id"]


def test_without_a_name_the_experiment_is_the_stores_own_and_is_kept(outputs: Path, tmp_path: Path) -> None:
    first, second = (recorded(outputs)["generation"] for _ in range(2))
    assert first["experiment_name"] is None
    assert first["experiment_id"] == second["experiment_id"]
    assert first["experiment_id"] in (outputs / ".runcard" / "experiment").read_text()
    assert recorded(tmp_path / "elsewhere")["generation"]["experiment_id"] != first["experiment_id"]


def test_ids_have_the_promised_form_and_sort_by_time(outputs: Path) -> None:
    ids = [recorded(outputs)["generation"]["run_id"] for _ in range(3)]
    assert ids == sorted(ids)
    assert all(re.fullmatch("run-[a-z0-9]{16,}", identity) for identity in ids)
    for settings in ({}, {"experiment": "personas"}):
        experiment = recorded(outputs, **settings)["generation"]["experiment_id"]
        assert re.fullmatch("exp-[a-z0-9]{16,}", experiment)


def test_labels_are_texts_and_can_be_added(outputs: Path) -> None:
    with runcard.record(outputs, labels={"team": "ux", "round": 3}, strict=True) as run:
        run.set_labels(round="4", stage="draft")
    assert read(run.path)["generation"]["labels"] == {"team": "ux", "round": "4", "stage": "draft"}


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_a_trace_is_taken_from_the_caller_and_passed_on(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEPARENT", TRACE)
    with runcard.record(outputs, strict=True) as run:
        assert run.environ["TRACEPARENT"] == TRACE
    assert read(run.path)["trace"] == {"traceparent": TRACE}


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "nonsense",
        TRACE.upper(),
        TRACE + "\n",
        TRACE[:-1],
        "ff" + TRACE[2:],
        f"00-{'0' * 32}-b7ad6b7169203331-01",
        f"00-0af7651916cd43dd8448eb211c80319c-{'0' * 16}-01",
    ],
)
def test_a_trace_that_is_none_is_left_aside(
    outputs: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setenv("TRACEPARENT", wrong)
    with runcard.record(outputs, strict=True) as run:
        assert "TRACEPARENT" not in run.environ
    assert read(run.path)["trace"] is None


def test_a_child_finds_the_run_by_its_environment(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with runcard.record(outputs, model="gpt-4o", strict=True) as run:
        assert run.environ == {
            "RUNCARD_RUN_DIR": str(run.path),
            "RUNCARD_RUN_ID": run.id,
            "RUNCARD_PARENT": run.id,
        }
        assert os.path.isabs(run.environ["RUNCARD_RUN_DIR"])
    # What it does there is told in the tests of survival; here, that a run inside it is its child.
    for name, value in run.environ.items():
        if name != "RUNCARD_RUN_DIR":
            monkeypatch.setenv(name, value)
    assert recorded(outputs)["relations"] == [{"type": "parent", "id": run.id}]


def test_inputs_are_found_by_pattern_and_named_from_where_the_run_began(
    outputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("in/a.md", "in/b.md", "in/c.txt", "more/d.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    with runcard.record(outputs, inputs=["in/*.md"], strict=True) as run:
        monkeypatch.chdir(tmp_path / "more")
        run.add_input("d.md", "*.md", "../in/c.txt")
    sources = read(run.path)["data_sources"]
    assert [file["path"] for file in sources["files"]] == ["in/a.md", "in/b.md", "in/c.txt", "more/d.md"]
    assert (sources["total_files"], sources["total_bytes"]) == (4, 7 + 7 + 8 + 9)
    assert read(run.path)["warnings"] == []


def test_a_pattern_is_seen_from_where_the_program_is_now_whatever_its_name(
    outputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / "[odd] *"
    odd.mkdir()
    (odd / "x.md").write_text("x")
    with runcard.record(outputs, strict=True) as run:
        monkeypatch.chdir(odd)
        run.add_input("?.md", str(odd / "x.md"))
    assert [file["path"] for file in read(run.path)["data_sources"]["files"]] == ["[odd] */x.md"]


def test_a_program_whose_directory_was_removed_is_recorded(
    outputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    (tmp_path / "a.md").write_text("a")
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with runcard.record(outputs, inputs=[str(tmp_path / "a.md")], strict=True) as run:
        pass
    assert [file["path"] for file in read(run.path)["data_sources"]["files"]] == [str(tmp_path / "a.md")]


def test_a_pattern_without_a_match_is_a_warning_in_the_document(outputs: Path) -> None:
    with runcard.record(outputs, inputs=["nothing/*.md"], strict=True) as run:
        run.add_input("also-nothing.md")
    document = read(run.path)
    assert [(said["type"], said["message"]) for said in document["warnings"]] == [
        ("input", "no file matches nothing/*.md"),
        ("input", "no file matches also-nothing.md"),
    ]
    assert document["data_sources"]["files"] == []
    assert document["checksums"]["data"] is None


def test_the_configuration_says_model_and_provider_also_when_they_are_unknown(outputs: Path) -> None:
    assert recorded(outputs)["configuration"] == {"model": None, "provider": None}
    given = {"provider": "openai", "model": "gpt-4o", "seed": 7}
    assert recorded(outputs, model="o3", config=given)["configuration"] == given | {"model": "o3"}


def test_the_configuration_is_taken_as_it_was_when_it_was_told(outputs: Path) -> None:
    config: dict[str, Any] = {"steps": ["one"]}
    with runcard.record(outputs, config=config, strict=True) as run:
        run.set_config(more=config)
        config["steps"].append("two")
    assert read(run.path)["configuration"]["steps"] == ["one"]
    assert read(run.path)["configuration"]["more"] == {"steps": ["one"]}


def everything_secret(run: runcard.Run) -> None:
    run.set_config(database={"password": PASSWORD})
    run.set_labels(owner=TOKEN)
    run.add_error(ValueError(f"401 for {KEY}"))
    run.add_warning(f"{TOKEN} expires", type=TOKEN)
    run.relate("plan", TOKEN)
    run.log(f"used {KEY}", header=f"Authorization: Bearer {TOKEN}", secrets=[{"api_key": KEY}])
    run.add_usage(
        {"input": 1, "output": 1, "response_id": KEY}, step=TOKEN, prompt=PASSWORD, template=PASSWORD
    )
    run.add_input(f"/nowhere/{TOKEN}")


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_no_secret_is_in_any_file_and_what_was_masked_is_counted(outputs: Path) -> None:
    config = {"api_key": KEY, "nested": [{"token": TOKEN}]}
    with (  # noqa: PT012 - the run has to fail at its end
        pytest.raises(RuntimeError),
        runcard.record(outputs, strict=True, config=config, labels={"key": KEY}) as run,
    ):
        everything_secret(run)
        raise RuntimeError(f"cannot log in with password={PASSWORD}")
    written = bytes_of(outputs)
    for secret in (KEY, TOKEN, PASSWORD):
        assert secret.encode() not in written
    document = read(run.path)
    assert document["configuration"]["api_key"].startswith("[masked:")
    assert "keep_secrets" not in document
    masked = {said["where"] for said in document["redactions"]}
    assert {"configuration", "labels", "errors", "warnings", "relations", "events"} <= masked
    counts = {(said["rule"], said["where"]): said["count"] for said in document["redactions"]}
    assert counts["github-token", "relations"] == 1
    assert counts["anthropic-key", "labels"] == 1


def test_secrets_are_kept_for_those_who_must_and_the_document_says_so(outputs: Path) -> None:
    with runcard.record(outputs, config={"api_key": KEY}, keep_secrets=True, strict=True) as run:
        everything_secret(run)
    document = read(run.path)
    assert document["keep_secrets"] is True
    assert document["configuration"]["api_key"] == KEY
    assert document["redactions"] == []
    assert TOKEN.encode() in bytes_of(run.path)
    assert next(runcard.verify(run.path)).verdict.findings == ()


def test_a_command_line_is_masked_as_well() -> None:
    settings = start_settings() | {
        "command": ["curl", "-H", f"Authorization: Bearer {TOKEN}", "--api-key", KEY]
    }
    for keep in (False, True):
        document, counts = start_document(Clock(), "run-1", "exp-1", settings, None, keep_secrets=keep)
        command = document["generation"]["command"]
        assert command[:2] == ["curl", "-H"]
        assert (KEY in command) is keep
        assert ("command" in counts) is not keep


def test_neither_prompt_nor_template_is_kept_but_their_digests_are(outputs: Path) -> None:
    with runcard.record(outputs, strict=True) as run:
        run.add_usage({"input": 1, "output": 1}, prompt="Tell me a story.", template="Tell me {what}.")
    assert b"story" not in bytes_of(outputs)
    (call,) = [line["payload"] for line in events(run.path) if line["event"] == "model.called"]
    assert call["prompt_sha256"] == sha256(b"Tell me a story.").hexdigest()
    assert call["template_sha256"] == sha256(b"Tell me {what}.").hexdigest()


def test_the_digest_of_a_prompt_is_that_of_its_masked_form(outputs: Path) -> None:
    """So that nobody finds out a secret by trying."""
    with runcard.record(outputs, strict=True) as run:
        run.add_usage({"input": 1, "output": 1}, prompt=f"my key is {KEY}")
    (call,) = [line["payload"] for line in events(run.path) if line["event"] == "model.called"]
    assert call["prompt_sha256"] == sha256(b"my key is [masked:anthropic-key]").hexdigest()


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "..", "a b", "é", "x" * 129, "a\n"])
@pytest.mark.parametrize("argument", ["experiment", "parent"])
def test_a_name_that_cannot_be_one_raises_at_once(outputs: Path, argument: str, name: str) -> None:
    settings: dict[str, Any] = {argument: name}
    with pytest.raises(UsageError, match=f"^{argument} .* is not a valid name"):
        runcard.record(outputs, **settings)
    assert not outputs.exists()


def test_one_text_is_no_list_of_inputs(outputs: Path) -> None:
    with pytest.raises(UsageError, match="not a text") as raised:
        runcard.record(outputs, inputs="in/*.md")
    assert raised.value.hint == "write inputs=['in/*.md']"


@pytest.mark.parametrize(
    "config", [{"a": object()}, {"a": b"x"}, {"nan": float("nan")}, {"a": "\ud800"}, {(1, 2): 2}]
)
def test_a_configuration_that_is_not_json_raises_at_once(outputs: Path, config: dict[Any, Any]) -> None:
    with pytest.raises(EncodingError):
        runcard.record(outputs, config=config)
    with runcard.record(outputs) as run:
        with pytest.raises(EncodingError):
            run.set_config(config)
        with pytest.raises(EncodingError):
            run.log("odd", value=config)
    assert read(run.path)["configuration"] == {"model": None, "provider": None}


@pytest.mark.parametrize("name", ["model", "provider"])
def test_a_model_is_a_text(outputs: Path, name: str) -> None:
    with runcard.record(outputs) as run, pytest.raises(UsageError, match=f"{name} is 4"):
        run.set_config({name: 4})


@pytest.mark.parametrize(
    "wrong",
    [
        lambda run: run.relate("brother", "run-1"),
        lambda run: run.relate("parent", ""),
        lambda run: run.relate("parent", None),
        lambda run: run.relate("session", "s", sha256="sha256:" + "ab" * 32),
        lambda run: run.log(""),
        lambda run: run.log(None),
        lambda run: run.log("run.ended", status="completed"),
        lambda run: run.log("model.called"),
        lambda run: run.set_costs(total=3),
        lambda run: run.set_costs(total_cost_usd=-1),
        lambda run: run.set_costs(total_cost_usd="3"),
        lambda run: run.set_costs(input_tokens=-1),
        lambda run: run.set_costs(input_tokens=1.5),
        lambda run: run.set_costs(input_tokens=1, cache_read_tokens=2),
        lambda run: run.add_usage({"input": 1, "output": 1}, cost=-0.01),
        lambda run: run.add_usage({"input": 1, "output": 1}, cost=float("nan")),
        lambda run: run.add_usage({"input": 1, "output": 1}, cost=Decimal("1e9999999")),
        lambda run: run.add_usage({"input": 1, "output": 1}, cost=True),
        lambda run: run.add_usage({"input": 1, "output": 1}, latency=-1),
        lambda run: run.add_usage({"input": 1, "output": 1}, latency=float("nan")),
        lambda run: run.add_usage({"input": 1, "output": 1}, latency="1.5"),
        lambda run: run.add_usage({"input": 1, "output": 1}, request="temperature=1"),
        lambda run: run.add_usage({"tokens": 3}),
        lambda run: run.add_usage("12 tokens"),
        lambda run: run.add_usage(None),
    ],
)
def test_a_wrong_argument_raises_at_once_also_when_the_recording_is_not_strict(
    outputs: Path, wrong: Any
) -> None:
    with runcard.record(outputs) as run:
        with pytest.raises(UsageError) as raised:
            wrong(run)
        assert raised.value.hint
    said = {line["event"] for line in events(run.path)}
    assert said == {"run.started", "environment.observed", "run.ended"}
    assert read(run.path)["generation"]["status"] == "completed"


def test_relations_warnings_errors_and_own_events_are_kept(outputs: Path) -> None:
    digest = "ab" * 32
    with runcard.record(outputs, strict=True) as run:
        run.relate("session", "team-1", sha256=digest)
        run.relate("commit", "4be1c0ffee")
        run.add_error("the page was empty", type="empty")
        run.add_error(ValueError("bad"))
        run.add_error("plain")
        run.add_warning("slow")
        run.log("page.read", number=3, tags=["a", None])
    document = read(run.path)
    assert document["relations"] == [
        {"type": "session", "id": "team-1", "sha256": digest},
        {"type": "commit", "id": "4be1c0ffee"},
    ]
    assert [(said["type"], said["message"]) for said in document["errors"]] == [
        ("empty", "the page was empty"),
        ("ValueError", "bad"),
        (None, "plain"),
    ]
    assert [(said["type"], said["message"]) for said in document["warnings"]] == [(None, "slow")]
    assert all(said["timestamp"].endswith("Z") for said in document["errors"])
    lines = {line["event"]: line for line in events(run.path)}
    assert lines["page.read"]["payload"] == {"number": 3, "tags": ["a", None]}
    assert lines["error.added"]["level"] == "error"
    assert lines["warning.added"]["level"] == "warning"
    keys = {"seq", "timestamp", "level", "event", "experiment_id", "run_id", "elapsed", "payload"}
    chained = {"writer", "salt", "payload_sha256", "prev", "hash"}
    first, *others = events(run.path)
    assert first.keys() == keys | chained | {"mac"}
    assert all(line.keys() == keys | chained for line in others)


def test_what_surrounds_the_run_is_observed(outputs: Path) -> None:
    document = recorded(outputs)
    environment = document["environment"]
    assert environment["runcard_version"] == runcard.__version__
    assert environment["platform"] == "linux" or environment["platform"]
    assert environment["packages"]["pytest"]
    assert document["generation"]["process"]["pid"] == os.getpid()
    assert document["resources"]["cpu_seconds"] > 0
    assert document["producer"] == {"name": "runcard", "version": runcard.__version__}
    assert document["generation"]["command"] == sys.orig_argv


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"model": 3}, UsageError),
        ({"config": {"provider": []}}, UsageError),
        ({"labels": {"a": "\udc80"}}, EncodingError),
        ({"prices": "prices.json"}, UsageError),
        ({"inputs": [3]}, TypeError),
        ({"inputs": Path("in")}, TypeError),
        ({"outputs": 3}, UsageError),
    ],
)
def test_what_no_document_can_hold_raises_before_anything_is_begun(
    outputs: Path, wrong: dict[str, Any], error: type[Exception]
) -> None:
    """A run that could never be closed would be in the way of all that come after it."""
    with pytest.raises(error):
        runcard.record(**({"outputs": outputs} | wrong))
    assert not outputs.exists()


def test_the_command_line_of_the_program_is_recorded_without_its_secrets(outputs: Path) -> None:
    script = f"import runcard\nwith runcard.record({str(outputs)!r}, strict=True) as run: print(run.path)"
    arguments = [
        sys.executable,
        "-X",
        "utf8",
        "-c",
        script,
        "--api-key",
        KEY,
        b"\xff".decode("utf-8", "surrogateescape"),
    ]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=120)
    document = read(Path(done.stdout.strip()))
    assert document["generation"]["command"][1:4] == ["-X", "utf8", "-c"]
    assert document["generation"]["command"][-2:] == ["[masked:anthropic-key]", "\\xff"]
    assert {"rule": "anthropic-key", "where": "command", "count": 1} in document["redactions"]
    assert KEY not in json.dumps(document)
