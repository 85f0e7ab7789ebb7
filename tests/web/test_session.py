"""The page of a session, and the transcripts of its agents."""

import tracemalloc
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import runcard
from runcard.operations.sessions.transcript_page import PAGE
from web.sample_records import SESSION, import_session


@pytest.fixture
def home(place: Path) -> Path:
    return place.parent / "home"


def test_the_page_has_the_team_over_time_with_lower_bounds(page: TestClient, home: Path) -> None:
    import_session(home)
    text = page.get(f"/sessions/{SESSION}").text
    for part in ("main", "helper", "Claude Code", "completed", "claude-sonnet-4-5", "Bash", "<rect"):
        assert part in text, part
    assert "≥\N{NO-BREAK SPACE}$" in text
    assert "Not counted" in text


def test_a_transcript_is_a_conversation_with_tools_folded(page: TestClient, home: Path) -> None:
    import_session(home)
    text = page.get(f"/sessions/{SESSION}/agents/main").text
    assert "<strong>checkout</strong>" in text
    assert "Fix the total" in text
    assert text.count('<details class="step step-tool-use') == 5
    assert "≥\N{NO-BREAK SPACE}$" in text


def test_what_an_agent_said_never_runs(page: TestClient, home: Path) -> None:
    import_session(
        home, text="<script>alert(1)</script><img src=x onerror=alert(2)> [a](javascript:alert(3))"
    )
    text = page.get(f"/sessions/{SESSION}/agents/main").text
    assert "<script>alert" not in text
    assert "<img" not in text
    assert 'href="javascript' not in text


def test_a_long_transcript_is_paged_and_nothing_is_lost(page: TestClient, home: Path) -> None:
    import_session(home, steps=600, text="word " * 100)
    seen, start = [], 0
    while True:
        text = page.get(f"/sessions/{SESSION}/agents/main", params={"start": start}).text
        assert len(text) < 6 * PAGE
        seen += [number for number in range(600) if f"Step {number}." in text]
        following = text.split('rel="next"')[0].rsplit("start=", 1) if 'rel="next"' in text else None
        if following is None:
            break
        start = int(following[1].split('"')[0])
    assert seen == list(range(600))
    last = page.get(f"/sessions/{SESSION}/agents/main", params={"before": 10**12}).text
    assert "Step 599." in last
    assert "Earlier" in last


def test_words_are_found_inside_and_lead_to_their_place(page: TestClient, home: Path) -> None:
    import_session(home, steps=600, text="word " * 100)
    found = page.get(f"/sessions/{SESSION}/agents/main", params={"words": "STEP 417."}).text
    start = found.split("start=")[1].split('"')[0]
    assert "Step 417." in page.get(f"/sessions/{SESSION}/agents/main", params={"start": start}).text


def test_a_line_of_ten_megabytes_is_cut_and_said_so(page: TestClient, place: Path) -> None:
    with runcard.Session("team-1") as session:
        worker = session.start_instance("worker")
        worker.log("x" * (10 << 20))
        worker.finish()
    answer = page.get("/sessions/team-1/agents/worker")
    assert len(answer.text) < 4 * PAGE
    assert "Later →" in answer.text
    assert "Cut: this goes on on the next page" in answer.text
    assert place.is_dir()


@pytest.mark.long
def test_a_page_of_a_large_transcript_needs_little_memory(page: TestClient, place: Path) -> None:
    log = place / "large.log"
    with log.open("wb") as file:
        for _ in range(40):
            file.write(b"a line of a log that is neither long nor short\n" * 22000)
    agent = {"name": "writer", "status": "completed", "output": str(log)}
    agent |= {"created_at": "2025-11-06T14:00:00Z", "terminated_at": "2025-11-06T14:20:00Z"}
    runcard.collect({"team_session_id": "large", "instances": [agent]})
    page.get("/sessions/large/agents/writer")
    tracemalloc.start()
    try:
        answer = page.get("/sessions/large/agents/writer", params={"start": 20_000_000})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "neither long nor short" in answer.text
    assert peak < 12 << 20


def test_an_agent_that_is_not_there_is_not_found(page: TestClient, home: Path) -> None:
    import_session(home)
    assert page.get(f"/sessions/{SESSION}/agents/nobody").status_code in {400, 404}
    assert page.get(f"/sessions/{SESSION}/agents/..%2F..%2Fetc").status_code in {400, 404}


def test_files_and_the_audit_trail(page: TestClient, home: Path) -> None:
    import_session(home)
    text = page.get(f"/sessions/{SESSION}/audit").text
    assert "metadata.json" in text
    assert "Audit trail" in text


def test_the_cumulative_cost_ends_at_the_known_cost(page: TestClient, home: Path) -> None:
    record = import_session(home)
    data = page.get(f"/sessions/{SESSION}/costs.json").json()
    summary = record.document().to_dict()["execution_summary"]
    known = summary["total_cost"] if summary.get("total_cost") is not None else summary["known_cost"]
    assert data["series"][0]["values"][-1] == pytest.approx(known, abs=1e-5)
    assert len(data["x"]) == len(data["series"][0]["values"])


def test_an_open_session_is_shown_so_far(page: TestClient, place: Path) -> None:
    with runcard.Session("live-1") as session:
        session.start_instance("worker")
        text = page.get("/sessions/live-1").text
        assert "running" in text
        assert "Everything was stored" not in text
    assert place.is_dir()


def _team(name: str) -> None:
    life = {"created_at": "2025-11-06T14:00:00Z", "terminated_at": "2025-11-06T14:20:00Z"}
    tokens = {"input": 100, "output": 20}
    agents = [
        {"name": "writer", "status": "completed", "usage": tokens, **life},
        {"name": "researcher", "status": "error", "error_message": "429 Too Many Requests", **life},
    ]
    runcard.collect({"team_session_id": name, "instances": agents})


def test_an_error_of_an_agent_counts_in_its_category(page: TestClient, place: Path) -> None:
    assert place.is_dir()
    _team("wrong")
    text = page.get("/sessions/wrong").text
    assert "rate_limit" in text
    assert "No errors were recorded" not in text


def test_what_is_partly_known_is_a_lower_bound(page: TestClient, place: Path) -> None:
    assert place.is_dir()
    _team("partly")
    text = page.get("/sessions/partly").text
    figure = text.split('<span class="figure-title">Tokens</span>')[1].split("</div>")[0]
    assert "≥\N{NO-BREAK SPACE}120" in figure
    classes = text.split("<tfoot>")[1].split("</tfoot>")[0]
    for count in (100, 20):
        assert f"≥\N{NO-BREAK SPACE}{count}" in classes
    assert "≥\N{NO-BREAK SPACE}120" in page.get("/").text
    for by in ("session", "day"):
        costs = page.get("/costs", params={"by": by, "since": ""}).text
        assert "≥\N{NO-BREAK SPACE}100" in costs, by


def test_agents_that_end_together_are_one_point_of_the_chart(page: TestClient, place: Path) -> None:
    assert place.is_dir()
    _team("together")
    times = page.get("/sessions/together/costs.json").json()["x"]
    assert len(times) == len(set(times)) == 2
