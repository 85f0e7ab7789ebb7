"""Tokens of inputs: estimates, of the very contents that are recorded, with the name of the tokenizer."""

import threading
from pathlib import Path
from typing import Any

import pytest

import runcard
from runcard.accounting import token_estimate
from runcard.observe import input_tokens
from runcard.observe.input_tokens import TokenCounter
from runcard.observe.inputs import inputs
from runs.runs import read

TEXT = "Every run leaves a record that you can trust.\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def counted(*patterns: str, model: str | None = None) -> list[dict[str, Any]]:
    files, _ = inputs(patterns, ".")
    return counted_files(files, model)


def counted_files(files: list[dict[str, Any]], model: str | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    work = TokenCounter()
    work.start(files, str(Path.cwd()), model, found.extend)
    work.stop(60)
    return found


def test_a_text_is_counted_with_the_name_of_the_tokenizer() -> None:
    Path("a.md").write_text(TEXT)
    Path("b.md").write_text("<|endoftext|>")  # text like any other here
    first, second = counted("*.md")
    assert (first["path"], first["tokens"], first["token_source"]) == ("a.md", 10, "estimated")
    assert first["tokenizer"] == "o200k_base"
    assert second["tokens"] > 1


@pytest.mark.parametrize(
    ("model", "tokenizer"),
    [
        ("gpt-4", "cl100k_base"),
        ("gpt-4-turbo-2024-04-09", "cl100k_base"),
        ("openai/GPT-3.5-turbo", "cl100k_base"),
        ("text-embedding-3-small", "cl100k_base"),
        ("gpt-4o-mini", "o200k_base"),
        ("gpt-4.1", "o200k_base"),
        ("o3", "o200k_base"),
        ("claude-sonnet-4-5", "o200k_base"),
        (None, "o200k_base"),
    ],
)
def test_the_model_decides_which_tokenizer_comes_nearest(model: str | None, tokenizer: str) -> None:
    assert token_estimate.tokenizer_for(model) == tokenizer


def test_what_is_no_text_has_no_tokens() -> None:
    Path("a.bin").write_bytes(b"\xff\xfe\x00")
    assert counted("a.bin") == []


def test_a_file_that_changed_since_it_was_recorded_is_not_counted() -> None:
    Path("a.md").write_text(TEXT)
    files, _ = inputs(["a.md"], ".")
    Path("a.md").write_text(TEXT.upper())
    assert counted_files(files) == []
    Path("a.md").unlink()
    assert counted_files(files) == []


def test_a_name_that_is_not_utf_8_is_found() -> None:
    Path("a.md").write_text(TEXT)
    Path("a.md").rename(b"\xff.md".decode("utf-8", "surrogateescape"))
    assert [file["tokens"] for file in counted("*.md")] == [10]


def test_large_files_are_left_uncounted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.md", "b.md", "c.md"):
        Path(name).write_text(TEXT)
    Path("d.md").write_text(TEXT * 2)
    monkeypatch.setattr(input_tokens, "MAX_FILE_SIZE", len(TEXT))
    monkeypatch.setattr(input_tokens, "MAX_TOTAL_SIZE", 2 * len(TEXT))
    assert [file["path"] for file in counted("*.md")] == ["a.md", "b.md"]


def test_without_the_extra_nothing_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.md").write_text(TEXT)
    monkeypatch.setattr(token_estimate, "can_count", lambda: False)
    assert counted("a.md") == []


def test_what_comes_too_late_is_not_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.md").write_text(TEXT)
    files, _ = inputs(["a.md"], ".")
    go_on = threading.Event()
    found: list[dict[str, Any]] = []
    monkeypatch.setattr(token_estimate, "count_tokens", lambda *_: go_on.wait(60) and 1)
    work = TokenCounter()
    work.start(files, ".", None, found.extend)
    work.stop(0)
    go_on.set()
    work.stop(60)
    assert found == []


def test_a_run_records_the_tokens_of_its_inputs() -> None:
    Path("a.md").write_text(TEXT)
    Path("b.md").write_text(TEXT * 2)
    with runcard.record("outputs", inputs=["*.md"], model="gpt-4", strict=True) as run:
        pass
    sources = read(run.path)["data_sources"]
    assert [file["tokens"] for file in sources["files"]] == [10, 20]
    assert {file["tokenizer"] for file in sources["files"]} == {"cl100k_base"}
    assert (sources["total_tokens"], sources["token_source"]) == (30, "estimated")
    assert all(verified.verdict.intact for verified in runcard.verify(run.path))


def test_one_file_that_cannot_be_counted_leaves_the_total_unknown() -> None:
    Path("a.md").write_text(TEXT)
    Path("b.bin").write_bytes(b"\xff")
    recorder = runcard.MetadataRecorder()
    recorder.start()
    recorder.add_data_source("a.md", "b.bin")
    recorder.finish()
    sources = recorder.document().to_dict()["data_sources"]
    assert [file.get("tokens") for file in sources["files"]] == [10, None]
    assert sources["total_tokens"] is None


def test_a_count_of_older_contents_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.md").write_text(TEXT)
    recorder = runcard.MetadataRecorder()
    recorder.start()
    recorder.add_data_source("a.md")
    for thread in recorder._events._token_counts._threads:
        thread.join(60)
    monkeypatch.setattr(token_estimate, "can_count", lambda: False)
    Path("a.md").write_text("Other contents.\n")
    recorder.add_data_source("a.md")
    recorder.finish()
    [file] = recorder.document().to_dict()["data_sources"]["files"]
    assert "tokens" not in file
