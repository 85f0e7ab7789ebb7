"""Properties of many lines and files, and flat memory for large ones."""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runcard.accounting.vendors import anthropic
from runcard.accounting.vendors.reply_fields import ReplyFields
from runcard.errors import UsageError
from runcard.transcripts import line_reader
from runcard.transcripts.line_reader import read_lines
from runcard.transcripts.reading import read_files
from runcard.transcripts.sources import find_files
from transcripts.session_files import assistant, calls, claude, lines, read, slow_sums, sums, usage, user

TOOL = "claude-code"


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    number = draw(st.integers(1, 6))
    size = draw(
        st.integers(0, 10**6)
    )  # the total tells all counts: which of two equal totals counts is no question here
    counts = usage(3 * size, size, 5 * size, 2 * size, size)
    call = assistant(
        f"msg_{number}",
        counts,
        request=f"req_{draw(st.integers(1, 2))}",
        model=draw(st.sampled_from(["claude-sonnet-4-5", "claude-opus-4-5", "<synthetic>"])),
        stop=draw(st.sampled_from([None, "end_turn"])),
        content=[{"type": "text", "text": draw(st.text(max_size=20))}],
    )
    if draw(st.booleans()):
        return call
    return {"type": "progress", "sessionId": "s-1", "data": {"agentId": f"a{number}", "message": call}}


@settings(max_examples=150)
@given(
    found=st.lists(records(), max_size=14), parts=st.integers(1, 4), random=st.randoms(use_true_random=False)
)
def test_order_repeats_and_files_do_not_matter(found: list[dict[str, Any]], parts: int, random: Any) -> None:
    expected = slow_sums([lines(found)])
    repeated = [*found, *random.sample(found, len(found) // 2)]
    random.shuffle(repeated)
    seen = []
    for order in (found, repeated):
        with TemporaryDirectory() as name:
            folder = Path(name)
            claude(folder, user(), name="s-0.jsonl")
            for part in range(parts):
                claude(folder, *order[part::parts], name=f"s-{part + 1}.jsonl")
            table = calls(TOOL, folder)
        assert sums(table) == expected
        seen.append(sorted(repr((call.time, call.kind, call.counts, call.origin.agent)) for call in table))
    assert seen[0] == seen[1]


VALUES: st.SearchStrategy[Any] = st.one_of(
    st.integers(-1, 2**54), st.sampled_from([None, True, 1.0, "5", [], {}, "standard", "batch", "us"])
)
NAMES = st.sampled_from(
    [
        *("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
        *(
            "cache_creation",
            "server_tool_use",
            "service_tier",
            "speed",
            "inference_geo",
            "iterations",
            "dream_tokens",
        ),
    ]
)
INNER = st.dictionaries(
    st.sampled_from(
        ["ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens", "web_search_requests", "x_tokens"]
    ),
    VALUES,
)


@settings(max_examples=400)
@given(changes=st.dictionaries(NAMES, st.one_of(VALUES, INNER, st.lists(INNER, max_size=2)), max_size=3))
def test_the_quick_reader_of_usage_says_what_the_reader_says(changes: dict[str, Any]) -> None:
    counts = usage(**changes)
    quick = anthropic.plain_counts(counts)
    if quick is None:
        return
    read_again = anthropic.read(ReplyFields({"stop_reason": "end_turn"}), ReplyFields(counts))
    tokens = read_again.tokens
    assert quick == (
        tokens.input,
        tokens.output,
        tokens.cache_read,
        tokens.cache_write_5m,
        tokens.cache_write_1h,
    )
    assert anthropic.plain_tier(counts) == read_again.service_tier
    assert (read_again.unknown, read_again.server_tools, read_again.also, read_again.is_total) == (
        (),
        {},
        (),
        False,
    )
    assert tokens.reasoning is None


def test_the_quick_reader_reads_the_common_form() -> None:
    assert anthropic.plain_counts(usage()) == (355, 20, 300, 40, 5)
    newer = usage(
        server_tool_use={"web_search_requests": 0}, iterations=[], speed="standard", inference_geo=""
    )
    assert anthropic.plain_counts(newer) is not None
    with pytest.raises(UsageError):
        anthropic.read(ReplyFields({}), ReplyFields(usage(sent=-1)))
    assert anthropic.plain_counts(usage(sent=-1)) is None


def test_the_parts_of_a_large_file_are_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = claude(
        tmp_path,
        *(assistant(f"msg_{n}", content=[{"text": "x" * n}]) for n in range(40)),
        b"{bad",
        user(),
        b"{worse",
    )
    whole = read(TOOL, tmp_path)
    for size in (1000, 4096, 7777, path.stat().st_size - 1):
        monkeypatch.setattr("runcard.transcripts.sources._PART", size)
        files, _ = find_files([TOOL], [str(tmp_path)])
        assert len(files) > 1
        in_parts = read_files(files)
        assert sums(in_parts.table) == sums(whole.table) == (40, 40 * 355, 800, 12000, 1600, 200, 0)
        assert in_parts.unread == whole.unread
        assert (in_parts.files, [part.line for part in in_parts.unread]) == (1, [41, 43])


def test_lines_that_are_too_long_are_given_without_their_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_reader, "LONGEST", 10)
    path = tmp_path / "f"
    path.write_bytes(b"0123456789\nabc\n" + b"x" * 35 + b"\nlast")
    with path.open("rb") as file:
        assert list(read_lines(file)) == [
            (1, b"0123456789", False),
            (2, b"abc\n", True),
            (3, b"x" * 10, False),
            (4, b"last", True),
        ]


def test_a_long_line_is_named_unless_its_type_has_no_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_reader, "LONGEST", 2000)
    long = [{"type": "text", "text": "x" * 3000}]
    claude(tmp_path, user("x" * 3000), assistant("msg_1", content=long), assistant("msg_2", request="req_2"))
    found = read(TOOL, tmp_path)
    assert (len(found.table), [(part.line, part.reason) for part in found.unread]) == (
        1,
        [(2, "the line is too long")],
    )


def test_a_long_line_is_named_where_a_call_may_be_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `progress` line has calls of sub-agents. What is at the end of the read part is not the end of the record."""
    monkeypatch.setattr(line_reader, "LONGEST", 2000)
    progress = {"type": "progress", "data": {"prompt": "x" * 3000, "message": assistant()}}
    head, end = b'{"message":{"content":[{"text":"', b'"},{"type":"user"}'
    unclear = head + b"x" * (2000 - len(head) - len(end)) + end + b',{}]},"type":"assistant"}'
    claude(tmp_path, progress, unclear, assistant("msg_2", request="req_2"))
    found = read(TOOL, tmp_path)
    assert (len(found.table), [part.line for part in found.unread]) == (1, [1, 2])


_MEASURE = """
import resource, sys
from runcard.transcripts.sources import find_files
from runcard.transcripts.reading import read_files
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
files, _ = find_files(["claude-code"], [sys.argv[1]])
found = read_files(files)
peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(len(found.table), peak - before)
"""


@pytest.mark.long
def test_a_line_of_half_a_gigabyte_needs_little_memory(tmp_path: Path) -> None:
    path = claude(tmp_path, assistant("msg_1"))
    head = (
        json.dumps(assistant("msg_2", request="req_2"), separators=(",", ":")).encode().partition(b'"text":"')
    )
    with path.open("ab") as file:
        file.write(head[0] + head[1])
        file.truncate(file.tell() + (512 << 20))  # a hole: zeros
        file.seek(0, 2)
        file.write(b'"}]}}\n' + lines([assistant("msg_3", request="req_3")]))
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(tmp_path)], capture_output=True, text=True, check=True
    )
    count, kilobytes = map(int, done.stdout.split())
    assert count == 2
    assert kilobytes < 100_000


def test_many_files_are_read_in_forks_as_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(60):
        claude(tmp_path, assistant(f"msg_{number}"), assistant("msg_x"), b"{bad", name=f"s-{number}.jsonl")
    here = read(TOOL, tmp_path)
    monkeypatch.setattr("runcard.parallel.forks.START_AFTER", 0.0)
    monkeypatch.setattr("runcard.parallel.forks.cores", lambda: 2)
    forked = read(TOOL, tmp_path)
    assert sums(forked.table) == sums(here.table)
    assert len(here.table) == 61
    assert (forked.unread, len(forked.unread)) == (here.unread, 60)
