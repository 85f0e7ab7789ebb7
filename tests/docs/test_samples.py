"""Every sample in the documentation is run."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest

from docs import pretend_claude
from docs.pages import PAGES, ROOT, Block, blocks, name, prose
from docs.sessions import Step, matches, matches_kind, run_console, run_python, steps
from runcard.store.runs import config_file
from s3_server import s3_server_process

EXAMPLES = sorted(path for pattern in ("*.json", "check_*") for path in (ROOT / "examples").glob(pattern))
# Their samples take more than about a second.
LONG = {
    f"docs/{page}.md"
    for page in (
        "amending",
        "analytics",
        "archiving",
        "collecting",
        "exporting",
        "importing-again",
        "metering",
        "migrating",
        "plans",
        "plans-for-ruby",
        "pytest",
        "received-records",
        "remote",
        "rerunning",
        "rspec",
        "running",
        "scaling",
        "sessions",
        "signing",
        "timestamps",
        "verifying",
    )
}
NEEDS = {"docs/plans-for-ruby.md": pytest.mark.needs("ruby-rspec")}
SPOKEN = [
    pytest.param(page, marks=[*marks, *([NEEDS[name(page)]] if name(page) in NEEDS else ())], id=name(page))
    for page in PAGES
    if blocks(page, "console", "python")
    for marks in [[pytest.mark.long] if name(page) in LONG else []]
]


@pytest.mark.parametrize("page", SPOKEN)
def test_a_page_can_be_followed_from_top_to_bottom(
    page: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Typing what a page shows, in order, beside the examples and its own files, prints what it says."""
    samples = blocks(page)
    if any("runcard doctor" in sample.text for sample in samples):
        config_file.remove_left_configs()  # of whoever runs the tests, which it would report
    for example in EXAMPLES:
        shutil.copy(example, tmp_path)
    shutil.copytree(ROOT / "examples" / "verify-run", tmp_path / "verify-run")
    if name(page) == "README.md":
        pretend_claude.write_session(tmp_path)
    if any("examples/demo-record" in sample.text for sample in samples):
        for record in (ROOT / "examples").glob("demo-record*"):
            shutil.copytree(record, tmp_path / "examples" / record.name)
    monkeypatch.chdir(tmp_path)
    with _claude(samples, tmp_path_factory, monkeypatch), _s3(samples, tmp_path_factory, monkeypatch):
        _run_samples(samples, tmp_path, name(page))


@contextmanager
def _claude(
    samples: list[Block], folders: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """For a page that runs `claude`: a program of this name, and a provider, on this machine."""
    if not any("-- claude " in sample.text for sample in samples):
        yield
        return
    programs = folders.mktemp("programs") / "bin"
    pretend_claude.install(programs)
    with pretend_claude.provider() as url:
        monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "not needed here")
        yield


@contextmanager
def _s3(
    samples: list[Block], folders: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """For a page that uses object storage: a server on this machine, with a bucket."""
    if not any(re.search(r"^[$>] .*s3://", sample.text, re.MULTILINE) for sample in samples):
        yield
        return
    with s3_server_process(folders.mktemp("s3")) as port:
        for name, value in (
            ("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}"),
            ("AWS_ACCESS_KEY_ID", "docs"),
            ("AWS_SECRET_ACCESS_KEY", "docs"),
            ("AWS_REGION", "us-east-1"),
        ):
            monkeypatch.setenv(name, value)
        boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="records")
        yield


def _run_samples(samples: list[Block], tmp_path: Path, page: str) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    for sample in samples:
        if sample.language == "console":
            run_console(sample, tmp_path)
        elif sample.words:  # a sample with a name becomes that file
            (tmp_path / sample.words[0]).write_text(sample.text, "utf-8")
        elif sample.language == "python":
            run_python(sample, names, page)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_sample_escapes_being_run(page: Path) -> None:
    """Blocks in other languages are for what cannot be run: trees, tables of bytes, and installing."""
    for block in blocks(page):
        where = f"{name(page)}:{block.line}"
        assert block.language in {"console", "python", "json", "text", "sh", "yaml", "ruby"}, where
        if block.language in {"yaml", "ruby"}:
            assert block.words, f"{where}: is no file that a sample uses"
        if block.language == "json":
            json.loads(block.text)
        if block.language == "text":
            assert "$ " not in block.text, where
        if block.language == "sh" and not block.words:
            for line in block.text.splitlines():
                assert re.match("pip install |make |git |cd |python3 -m venv |pipx |uv ", line), (
                    f"{where}: {line}"
                )


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_what_can_be_made_is_in_the_makefile(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    written = prose(page) + "".join(block.text for block in blocks(page, "sh", "console"))
    for target in re.findall(r"(?:`|^)make ([a-z]+)", written, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_a_session_notices_a_wrong_sample() -> None:
    """The checks above are worth something only when they can fail."""
    assert matches("a\n...\nc\n", "a\nb\nb\nc\n")
    assert not matches("a\n...\nc\n", "a\nb\n")
    assert not matches("a.c\n", "abc\n")
    assert matches_kind(
        "run-01jcqz8v4n6q8s0t at 2025-12-14T10:30:00Z\n", "run-01m7fa1d913bjv00 at 2026-01-01T00:00:00.5Z\n"
    )
    assert not matches_kind("run-01jcqz8v4n6q8s0t completed\n", "run-01m7fa1d913bjv00 failed\n")
    assert list(steps("$ one\n> two\nsaid\n$ three\n")) == [Step("one\ntwo\n", "said\n"), Step("three\n", "")]
