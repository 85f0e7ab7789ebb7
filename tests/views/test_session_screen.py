"""The screens of a session and of one agent."""

from typing import Any

from runcard.views.screen_parts import columns_of, fit
from runcard.views.session_screen import instance_screen, team_screen
from runcard.views.team_tree import branches
from sessions.build import AGENTS, LEAD, team_document

Fields = dict[str, Any]


def team(**more: Any) -> Fields:
    return team_document() | more


def test_the_screen_is_as_it_was_agreed() -> None:
    audit = {
        "collected_by": "ann@build-7",
        "omissions": [{"instance_id": LEAD, "path": "big.bin", "reason": "larger than 4 GiB"}],
        "excluded": [{"pattern": ".env", "count": 2}],
    }
    document = team(audit=audit, resources={"disk_bytes": 2048}, labels={"project": "x"})
    assert team_screen("artifacts/s", document, ["a.log: withheld by ann because of a name"]) == [
        "team-1  failed, 2 of 3 completed",
        "",
        "  directory  artifacts/s",
        "  started    2025-11-06T14:00:00Z",
        "  ended      2025-11-06T14:32:00Z",
        "  duration   32 min 00 s",
        "  collected  2025-11-06T14:32:45Z by ann@build-7",
        "  stored     2.0 kB of workspaces and transcripts",
        "  labels     project=x",
        "",
        "Team",
        "               status     role               tokens   cost    time",
        "  coordinator  completed  architect          45,230  $0.45     32m",
        "  ├── coder    completed  backend_developer  32,100  $0.32     23m",
        "  └── tester   error      qa_engineer           900  $0.01  2m 30s",
        "",
        "Cost",
        "  total   $0.78",
        "  tokens  78,230",
        "",
        "Timeline",
        f"               14:00:00{'14:32:00':>57}",
        f"  coordinator  {'━' * 65}",
        f"  coder        {' ' * 10}{'━' * 47}",
        f"  tester       {' ' * 20}{'━' * 5}",
        "",
        "Failed",
        "  tester: error, rate_limit, retryable: 429: too many requests",
        "",
        "Not stored",
        "  big.bin: larger than 4 GiB",
        "  .env: 2 files excluded by this pattern",
        "",
        "Amendments",
        "  a.log: withheld by ann because of a name",
    ]


def test_what_is_not_known_is_not_zero() -> None:
    document = team() | {"token_source": "given"}
    del document["instances"][2]["cost"], document["instances"][2]["execution_time_seconds"]
    document["instances"][1]["status"] = "running"
    summary = document["execution_summary"]
    del summary["total_cost"]
    summary["known_cost"] = 0.77
    lines = team_screen("s", document)
    assert lines[0] == "team-1  failed, 1 of 3 completed"
    assert "  └── tester   error      qa_engineer           900  unknown  2m 30s" in lines
    assert "  ├── coder    running    backend_developer  32,100    $0.32   23m …" in lines
    assert "  total   ≥ $0.77 (a part is unknown)" in lines
    assert "  counts  given by the caller" in lines
    assert any(line.startswith("  coder ") and line.endswith("━▶") for line in lines)
    assert not any(line.startswith("  coder: running") for line in lines)


def test_a_session_that_kept_its_secrets_says_so() -> None:
    kept = "  masking    off: secrets were kept"
    assert kept in team_screen("s", team(audit={"options": {"keep_secrets": True}}))
    assert kept not in team_screen("s", team(audit={"options": {"keep_secrets": False}}))


def test_no_line_is_wider_than_the_screen() -> None:
    deep = [
        AGENTS[0]
        | {
            "instance_id": f"i-{depth}",
            "name": f"agent-{depth} " + "名" * 30,
            "parent_instance_id": f"i-{depth - 1}" if depth else None,
            "role_title": "the one who writes everything down twice",
            "status": "terminated",
            "error_message": "x" * 300 + " " + "y" * 300,
            "tokens_used": 10**12,
            "cost": 123456.78,
            "execution_time_seconds": 10**7,
        }
        for depth in range(60)
    ]
    audit = {"omissions": [{"path": "p" * 200, "reason": "r" * 200}] * 20}
    lines = team_screen("s", team(instances=deep, audit=audit, labels={"a" * 50: "b" * 200}))
    assert max(map(columns_of, lines)) <= 80
    assert sum("agent-" in line for line in lines[:75]) == 60
    assert lines.count("  … and 30 more") == 1  # of the timeline
    assert lines.count("  … and 40 more") == 1  # of those who failed
    assert lines.count("  … and 12 more") == 1  # of what was left out


def test_names_cannot_act_on_the_terminal() -> None:
    document = team()
    for entry in document["instances"]:
        entry["name"] = entry["error_message"] = "\x1b[2J\u202e\nx"
    entry["error_details"] = {"category": "other", "message": "\x1b[2J"}
    document["labels"] = {"\x1b": "\x1b"}
    for lines in (team_screen("\x1b", document), instance_screen("\x1b", document["instances"][2], {}, [])):
        assert not set("".join(lines)) & {"\x1b", "\n", "\u202e"}


def test_one_agent() -> None:
    document = AGENTS[0] | {
        "children_instance_ids": ["b2-coder", "gone"],
        "terminated_at_source": "collected",
        "cost_source": "priced",
        "tokens": {"input": 40000, "output": 5230, "cache_read": 100, "cache_write": None},
        "workspace": {
            "path": "/w",
            "files_count": 2,
            "total_size_bytes": 15,
            "file_types": {".md": 1, "": 1},
        },
        "output": {"file": "output.log", "lines": 2, "size_bytes": 12},
        "role": "general",
        "role_title": "pirate",
    }
    lines = instance_screen("artifacts/s", document, {"b2-coder": "coder"}, [("a.md", 7), ("b", 8)])
    assert lines == [
        "coordinator  completed",
        "",
        "  session   artifacts/s",
        "  instance  a1-lead",
        "  role      pirate (general)",
        "  model     claude-sonnet-4-5",
        "  children  coder, gone",
        "  started   2025-11-06T14:00:00Z",
        "  duration  32m (until it was collected: the end was not observed)",
        "",
        "Cost",
        "  total                $0.45 (by the price table)",
        "  tokens               45,230",
        "  input                40,000",
        "  read from the cache  100",
        "  output               5,230",
        "",
        "Workspace",
        "  from    /w",
        "  stored  2 files, 15 B",
        "  types   1 .md, 1 without suffix",
        "  a.md  7 B",
        "  b     8 B",
        "",
        "Transcript",
        "  output.log  2 lines, 12 B",
    ]


def test_a_tree_of_several_roots_and_a_very_deep_one() -> None:
    flat = [{"instance_id": name, "parent_instance_id": None} for name in "abc"]
    assert [lines for lines, _ in branches(flat)] == ["", "", ""]
    deep = [{"instance_id": str(n), "parent_instance_id": str(n - 1) if n else None} for n in range(5000)]
    drawn = [lines for lines, _ in branches(deep)]
    assert (len(drawn), drawn[2], len(drawn[50])) == (5000, "    └── ", 200)
    assert (len(drawn[51]), drawn[51][0]) == (204, " ")
    assert (max(map(len, drawn)), drawn[4999][0], drawn[4999][-4:]) == (204, "…", "└── ")
    assert [one["instance_id"] for _, one in branches([{"instance_id": "x"}])] == ["x"]


def test_wide_characters_count_twice() -> None:
    assert columns_of("名a\u0301") == 3
    assert fit("名名名", 5) == "名名…"
    assert fit("名", 4) == "名  "
