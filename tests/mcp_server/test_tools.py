"""What the tools that read answer."""

import hashlib
import json
import shutil
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import runcard
from mcp_server.answers import TOOLS, Tools, error_of
from plans.projects import SOURCE, RubyProject
from runcard.mcp_server.paging import MOST_BYTES
from runcard.mcp_server.tool_calls import tool_result
from runcard.mcp_server.tools import ToolCall
from runcard.operations.archives.archive import archive


@pytest.mark.usefixtures("project")
def test_records_are_listed_and_filtered() -> None:
    tools = Tools()
    found = tools("list_records")
    assert [row["kind"] for row in found["quoted"]["records"]] == ["run", "run", "session"]
    assert (found["total"], found["left_out"], found["next_cursor"]) == (3, 0, None)
    warm = tools("list_records", where="config.temperature > 0.5", columns=["config.temperature"])
    assert [row["config.temperature"] for row in warm["quoted"]["records"]] == [0.7]
    assert tools("list_records", what="instances")["total"] == 3
    assert "there is no column" in tools.error("list_records", columns=["nonsense"])["error"]


@pytest.mark.usefixtures("project")
def test_pages_of_a_list_have_every_record_once() -> None:
    tools = Tools()
    pages = tools.pages("list_records", limit=1)
    ids = [row["id"] for page in pages for row in page["quoted"]["records"]]
    assert len(ids) == len(set(ids)) == 3
    assert [page["left_out"] for page in pages] == [2, 1, 0]


def test_a_record_is_read_by_its_id_its_name_its_path_and_as_the_latest(project: Path) -> None:
    tools = Tools()
    path = max((project / "outputs").glob("2*"))
    document = json.loads((path / "metadata.json").read_text())
    names = (document["generation"]["run_id"], path.name, str(path), f"outputs/{path.name}", "@latest")
    for word in names:
        answer = tools("get_record", record=word)
        assert answer["record"]["path"] == str(path)
        assert answer["quoted"]["value"]["document"] == document
    part = tools("get_record", record="@latest", pointer="/document/costs")
    assert part["quoted"]["value"] == document["costs"]


@pytest.mark.usefixtures("project")
def test_an_agent_of_a_session_is_read() -> None:
    tools = Tools()
    answer = tools("get_record", record="team-1", agent="coder")
    assert answer["quoted"]["value"]["document"]["instance_id"] == "b2-coder"
    assert "did you mean coder?" in tools.error("get_record", record="team-1", agent="codr")["hint"]
    assert "it has no agents" in tools.error("get_record", record="@latest", agent="coder")["error"]
    assert (
        tools("read_transcript", record="team-1", agent="coordinator")["quoted"]["text"] == "hello\nworld\n"
    )
    assert "coordinator, coder" in tools.error("read_transcript", record="team-1")["hint"]
    file = tools("read_transcript", record="team-1", file="instances/a1-lead/workspace/plan.md")
    assert file["quoted"]["text"] == "# Plan\n"


@pytest.mark.usefixtures("project")
def test_a_wrong_id_is_an_answer_with_a_hint() -> None:
    tools = Tools()
    for tool in ("get_record", "read_transcript", "verify_record"):
        answer = tools.error(tool, record="run-00000000")
        assert answer["error"] == "run-00000000 does not exist"
        assert "the newest are" in answer["hint"]


def test_wrong_arguments_are_an_answer_that_names_the_right_ones() -> None:
    answer = Tools().error("get_record", rekord="x", pointer=7)
    assert "'rekord' was unexpected" in answer["error"]
    assert "pointer: 7 is not of type" in answer["error"]
    assert answer["hint"] == "its arguments are: record, agent, pointer, cursor"


def test_a_changed_record_is_found_out(project: Path) -> None:
    tools = Tools()
    run = max((project / "outputs").glob("2*"))
    assert tools("verify_record", record=run.name)["intact"] is True
    (run / "out.txt").write_text("forged\n")
    answer = tools("verify_record", record=run.name)
    assert (answer["intact"], answer["complete"]) == (False, True)
    assert answer["quoted"]["findings"][0]["path"] == "out.txt"


def test_many_findings_come_in_pages(project: Path) -> None:
    run = max((project / "outputs").glob("2*"))
    for number in range(400):
        (run / f"unexpected-{number:03}.txt").touch()
    pages = Tools().pages("verify_record", record=run.name)
    assert len(pages) > 1
    paths = [found["path"] for page in pages for found in page["quoted"]["findings"]]
    assert sorted(paths) == [f"unexpected-{number:03}.txt" for number in range(400)]


def test_documents_are_validated(project: Path) -> None:
    tools = Tools()
    answer = tools("validate_document", record="team-1")
    assert (answer["valid"], answer["total"]) == (True, 5)
    run = json.loads((max((project / "outputs").glob("2*")) / "metadata.json").read_text())
    assert tools("validate_document", document=run)["valid"] is True
    assert tools("validate_document", document=json.dumps(run))["valid"] is True
    run["costs"]["input_tokens"] = "many"
    broken = tools("validate_document", document=run)
    assert broken["valid"] is False
    assert broken["quoted"]["documents"][0]["errors"][0]["path"] == "/costs/input_tokens"
    assert tools("validate_document", document="- a list")["valid"] is False
    assert "pass a record or a document" in tools.error("validate_document")["error"]


@pytest.mark.usefixtures("project")
def test_records_are_compared() -> None:
    answer = Tools()("diff_records", before="@latest~1", after="@latest")
    changes = {
        change["name"]: (change["before"], change["now"]) for change in answer["quoted"]["value"]["changes"]
    }
    assert changes["temperature"] == (0.2, 0.7)
    assert answer["identical"] is False


@pytest.mark.usefixtures("project")
def test_costs_are_those_of_the_command() -> None:
    answer = Tools()("cost_report", by=["model"])
    assert answer["totals"]["calls"] is None  # of the session it is not known
    groups = {group["key"]["model"]: group for group in answer["quoted"]["value"]["groups"]}
    assert groups["claude-haiku-4-5"]["cost_usd"] == 0.01
    assert answer["totals"]["cost_usd"] == pytest.approx(0.012 + 0.78)
    assert "is not a dimension" in Tools().error("cost_report", by=["nonsense"])["error"]


def test_the_run_that_made_a_file_is_found(project: Path) -> None:
    tools = Tools()
    (project / "copy.txt").write_text("0.7\n")
    by_file = tools("whence", file="copy.txt")["quoted"]["value"]
    digest = hashlib.sha256(b"0.7\n").hexdigest()
    assert by_file == tools("whence", digest=f"sha256:{digest}")["quoted"]["value"]
    assert by_file["made_by"][0]["file"] == "out.txt"
    assert "no known record" in tools.error("whence", digest="0" * 64)["error"]
    assert "not a digest" in tools.error("whence", digest="/etc/passwd")["error"]


@pytest.mark.usefixtures("project")
def test_words_are_found_in_records_and_in_transcripts() -> None:
    tools = Tools()
    assert tools("search_records", text="sonnet")["total"] >= 1
    hits = tools("search_records", text="world", where_to_look="transcripts")["quoted"]["hits"]
    assert [(hit["agent"], hit["agent_id"], hit["line"], hit["text"]) for hit in hits] == [
        ("coordinator", "a1-lead", 2, "world")
    ]


@pytest.mark.usefixtures("project")
def test_a_record_of_another_store_is_neither_found_nor_counted(tmp_path_factory: Any) -> None:
    other = tmp_path_factory.mktemp("other")
    with runcard.record(other / "outputs", model="secret-model", strict=True) as run:
        run.add_usage({"input": 5, "output": 5})
        (run.path / "theirs.txt").write_text("theirs\n")
    tools = Tools()
    assert tools("list_records")["total"] == 3
    assert "does not exist" in tools.error("get_record", record=run.id)["error"]
    assert "secret-model" not in json.dumps(tools("cost_report", by=["model"]))
    assert "no known record" in tools.error("whence", digest=hashlib.sha256(b"theirs\n").hexdigest())["error"]
    only = Tools(other / "outputs")
    assert only("get_record", record="@latest")["record"]["id"] == run.id
    assert only("list_records")["total"] == 1


LINES = 1_300_000


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose output has 100 MB, with a byte that is not UTF-8 in each line."""
    with runcard.record(tmp_path_factory.mktemp("long") / "outputs", strict=True) as run:
        block = b"".join(
            b"%07d a line of the output \xff \xc3\xa9 that goes on and on, for a while, and so on\n" % n
            for n in range(1000)
        )
        with (run.path / "big.log").open("wb") as file:
            for start in range(0, LINES, 1000):
                file.write(block.replace(b"\n0000", b"\n%04d" % (start // 1000)))
    return Path(run.path)


@pytest.mark.long
def test_a_transcript_of_100_megabytes_is_read_in_pages_with_flat_memory(long_run: Path) -> None:
    size = (long_run / "big.log").stat().st_size
    assert size > 100_000_000
    tools = Tools(long_run.parent)
    arguments: dict[str, Any] = {"record": long_run.name, "file": "big.log"}
    tools("read_transcript", **arguments)  # imports
    tracemalloc.start()
    first = tools("read_transcript", **arguments)
    second = tools("read_transcript", **arguments, cursor=first["next_cursor"])
    late = tools("read_transcript", **arguments, line=1_200_001)
    last = tools("read_transcript", **arguments, from_end=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4_000_000
    text = first["quoted"]["text"]
    assert second["first_line"] == text.count("\n") + 1
    assert first["left_out"] == size - second["first_byte"]
    assert late["quoted"]["text"].startswith("1200000") or late["first_line"] == 1_200_001
    assert last["left_out"] == 0
    assert last["quoted"]["text"].endswith("and so on\n")
    assert last["first_line"] == LINES - last["quoted"]["text"].count("\n") + 1


@pytest.mark.parametrize("data", [b"", b"no newline", b"\n" * 60_000, b"x" * 70_000, "é".encode() * 40_000, b"\xff" * 50_000, b"\x1b[31m\x00" * 9_000, b"a\r\nb\n" * 9000])  # fmt: skip
def test_the_pages_of_a_transcript_are_all_of_it(tmp_path: Path, data: bytes) -> None:
    with runcard.record(tmp_path / "outputs", strict=True) as run:
        (run.path / "log").write_bytes(data)
    tools = Tools(tmp_path / "outputs")
    for _ in range(2):
        pages = tools.pages("read_transcript", record=run.id, file="log")
        assert "".join(page["quoted"]["text"] for page in pages) == data.decode(errors="replace")
        archive(run.path)  # and then from the archive
        tools.scope.stores.open(run.id)
    assert tools("read_transcript", record=run.id, file="log", from_end=True)["left_out"] == 0


def test_a_session_with_very_many_agents_is_read_in_parts(tmp_path: Path) -> None:
    agents = [{"name": f"agent {n} " + "é" * 200, "status": "completed", "created_at": "2026-11-01T10:00:00Z", "terminated_at": "2026-11-01T11:00:00Z"} for n in range(300)]  # fmt: skip
    runcard.collect({"team_session_id": "many", "instances": agents}, artifacts=tmp_path / "artifacts")
    tools = Tools(tmp_path / "artifacts")
    answer = tools("get_record", record="many")
    assert answer["shortened_parts"] > 0
    assert answer["quoted"]["value"]["document"]["total_instances"] == 300
    pages = tools.pages("get_record", record="many", pointer="/document/instances")
    names = [entry["name"] for page in pages for entry in page["quoted"]["value"]]
    assert names == [agent["name"] for agent in agents]


@pytest.mark.usefixtures("project")
def test_a_call_that_is_cancelled_stops_at_the_next_file() -> None:
    tools = Tools()
    call = ToolCall(tools.scope)
    call.cancelled.set()
    result = tool_result(TOOLS["verify_record"], {"record": "team-1"}, call)
    assert result.is_error
    text: Any = result.content[0]
    assert error_of(text.text)["error"] == "the call was cancelled"


@pytest.mark.usefixtures("project")
def test_many_calls_at_once_are_all_answered() -> None:
    tools, answers = Tools(), []

    def ask() -> None:
        answers.append(tools("list_records")["total"])
        answers.append(tools("verify_record", record="team-1")["intact"] + 2)

    threads = [threading.Thread(target=ask) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers.count(3) == 24


def test_a_plan_is_read_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ruby = RubyProject(tmp_path / "shop")
    ruby.write()
    before = ruby.plan.read_bytes()
    monkeypatch.chdir(ruby.root)
    tools = Tools()
    assert tools("plan_status", source=SOURCE)["metadata_path"] == str(ruby.plan)
    assert tools("plan_begin", source=SOURCE, agent="analyzer")["ready"] is True
    plan = tools("plan_read", source=SOURCE)
    assert plan["quoted"]["value"] == ruby.read()
    assert plan["digest"] == f"sha256:{hashlib.sha256(before).hexdigest()}"
    assert (
        tools("plan_read", source=SOURCE, pointer="/target/class")["quoted"]["value"]
        == ruby.read()["target"]["class"]
    )
    assert tools("plan_validate", source=SOURCE)["written"] is False
    assert ruby.plan.read_bytes() == before
    assert tools("list_factories")["quoted"]["value"] == {}
    for source in ("/etc/passwd", "../x.rb", "app/../../x.rb", "a\0b"):
        assert "Error" not in tools.error("plan_read", source=source)["error"]


def test_no_answer_is_larger_than_the_limit_even_with_huge_values(tmp_path: Path) -> None:
    with runcard.record(
        tmp_path / "outputs", strict=True, config={"text": "\x1b" * 30_000, "list": ["x" * 99] * 999}
    ) as run:
        run.add_error("e" * 100_000)
    tools = Tools(tmp_path / "outputs")
    for name, arguments in (
        ("get_record", {"record": run.id}),
        ("list_records", {"columns": ["config.text", "error"]}),
        ("search_records", {"text": "x"}),
        ("validate_document", {"record": run.id}),
        ("get_record", {"record": "n" * 4000}),
        ("get_record", {"record": run.id, "pointer": "/" + "é" * 1500}),
    ):
        tools.result(name, arguments)  # which checks the size
    assert MOST_BYTES == 20_000
    shutil.rmtree(tmp_path / "outputs")
