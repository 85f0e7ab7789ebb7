"""The page of a run, its files, its verdict."""

import os
import subprocess
import time
from pathlib import Path

from starlette.testclient import TestClient

import runcard
from acceptance.command import RUNCARD
from runcard.local_http.listener import HttpListener
from runcard.web.app import make_app
from runcard.web.verification import ReaderTrust
from signatures.authority import Authority
from waiting import wait_until
from web.sample_records import record_run


def test_the_page_says_what_with_what_and_how_much(page: TestClient) -> None:
    run = record_run()
    text = page.get(f"/runs/{run.id}").text
    for part in (
        "completed",
        "claude-sonnet-4-5",
        "temperature",
        "0.2",
        "accuracy",
        "question.txt",
        "report.md",
        "draft",
    ):
        assert part in text, part
    assert "$0.0165" in text
    assert f"runcard rerun {run.path}" in text


def test_a_record_of_html_stays_text(page: TestClient) -> None:
    """Hostile names and values in every field that a user can fill."""
    evil = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>"
    Path("a<b>.txt").write_text("x")
    with runcard.record(
        model=evil, provider=evil, config={evil: evil}, labels={"team": evil}, inputs=["a<b>.txt"]
    ) as run:
        run.add_usage({"input": 1, "output": 1}, step=evil)
        run.log_metric("<i>m</i>", 1)
        (run.path / "<script>.txt").write_text(evil)
    listed = page.get("/runs", params={"columns": f"id,model,config.{evil}", "model": evil})
    paths = (
        "/",
        "/runs",
        f"/runs/{run.id}",
        f"/runs/{run.id}/events",
        "/costs?by=model",
        "/experiments",
        "/calls",
    )
    for answer in (listed, *map(page.get, paths)):
        assert "<img" not in answer.text
        assert "<script>alert" not in answer.text
        assert "onerror=alert(1)>" not in answer.text.replace("&gt;", "")
    shown = page.get(f"/runs/{run.id}/preview", params={"file": "<script>.txt"}).text
    assert "<script>alert" not in shown
    assert "&lt;script&gt;alert(2)" in shown


def test_control_and_direction_characters_are_shown_as_such(page: TestClient) -> None:
    with runcard.record(config={"name": "a\u202eb\x1b[31m"}) as run:
        pass
    text = page.get(f"/runs/{run.id}").text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert r"\u202e" in text


def test_files_are_shown_safely_by_their_kind(page: TestClient) -> None:
    run = record_run()

    def shown(name: str) -> str:
        return page.get(f"/runs/{run.id}/preview", params={"file": name}, headers={"hx-request": "true"}).text

    markdown = shown("report.md")
    assert "<h1>Report</h1>" in markdown
    assert "<strong>bold</strong>" in markdown
    assert "<script" not in markdown
    assert "javascript:" not in markdown.replace("[x](javascript:alert(1))", "")
    assert '<th scope="col">name</th>' in shown("table.csv")
    assert "&#34;a&#34;: [" in shown("data.json")
    assert "&lt;script&gt;alert(2)" in shown("note.html")
    assert f"/runs/{run.id}/image" in shown("dot.png")


def test_an_image_is_sent_as_one_and_a_page_is_not(page: TestClient) -> None:
    run = record_run()
    image = page.get(f"/runs/{run.id}/image", params={"file": "dot.png"})
    assert image.headers["content-type"] == "image/png"
    assert "sandbox" in image.headers["content-security-policy"]
    assert page.get(f"/runs/{run.id}/image", params={"file": "note.html"}).status_code == 404
    saved = page.get(f"/runs/{run.id}/download", params={"file": "note.html"})
    assert saved.headers["content-type"] == "application/octet-stream"
    assert saved.headers["content-disposition"].startswith("attachment")
    assert saved.content == b"<script>alert(2)</script>"


def test_no_path_leaves_the_record(page: TestClient, tmp_path: Path) -> None:
    run = record_run()
    secret = tmp_path / "secret.txt"
    secret.write_text("a secret")
    os.symlink(secret, Path(run.path) / "link.txt")
    os.symlink(tmp_path, Path(run.path) / "folder")
    paths = (
        "../secret.txt",
        str(secret),
        "a/../../secret.txt",
        "link.txt",
        "folder/secret.txt",
        "x\0y",
        "",
        "..",
    )
    for path in paths:
        for part in ("preview", "image", "download"):
            answer = page.get(f"/runs/{run.id}/{part}", params={"file": path})
            assert "a secret" not in answer.text, (part, path)
            assert answer.status_code in {404, 500} or part == "preview", (part, path)


def test_only_records_of_known_stores_can_be_named(page: TestClient, tmp_path: Path) -> None:
    record_run()
    for name in ("@latest", "%2Fetc", str(tmp_path).replace("/", "%2F"), "x%00y", "outputs%2Fx"):
        assert page.get(f"/runs/{name}").status_code == 404, name


def test_a_record_that_is_a_link_to_elsewhere_is_not_opened(page: TestClient, tmp_path: Path) -> None:
    run = record_run()
    page.get("/runs")
    moved = tmp_path / "moved"
    os.rename(run.path, moved)
    os.symlink(moved, run.path)
    assert page.get(f"/runs/{run.id}").status_code == 404


def test_a_record_that_vanishes_is_not_found(page: TestClient) -> None:
    import shutil  # noqa: PLC0415

    run = record_run()
    page.get("/")
    shutil.rmtree(run.path)
    for path in (
        f"/runs/{run.id}",
        f"/runs/{run.id}/events",
        f"/runs/{run.id}/lineage",
        f"/runs/{run.id}/preview?file=a",
    ):
        assert page.get(path).status_code == 404, path


def test_a_broken_document_is_said_and_does_not_stop_the_lists(page: TestClient) -> None:
    run, other = record_run(), record_run()
    (Path(run.path) / "metadata.json").write_text('{"generation": [')
    text = page.get("/runs").text
    assert "unreadable" in text
    assert other.id in text
    assert page.get(f"/runs/{Path(run.path).name}").status_code == 404


def test_verify_with_a_button(page: TestClient, listener: object) -> None:
    run = record_run()
    own = {"origin": listener.url, "hx-request": "true"}  # type: ignore[attr-defined]
    assert "Not verified since" in page.get(f"/runs/{run.id}").text
    answer = page.post(f"/runs/{run.id}/verify", headers=own).text
    assert "Intact" in answer
    assert "Not signed" in answer
    assert "Intact" in page.get(f"/runs/{run.id}").text
    (Path(run.path) / "data.json").write_text("{}")
    changed = page.post(f"/runs/{run.id}/verify", headers=own).text
    assert "Changed" in changed
    assert "data.json" in changed
    assert page.get(f"/runs/{run.id}/verify").status_code == 405


def test_a_document_that_was_changed_is_said_without_verifying(page: TestClient) -> None:
    run = record_run()
    assert "was changed since closing" not in page.get(f"/runs/{run.id}").text
    document = Path(run.path) / "metadata.json"
    document.write_text(document.read_text().replace("completed", "failed"))
    assert "metadata.json was changed since closing" in page.get(f"/runs/{run.id}").text


def test_where_files_come_from_and_go_to(page: TestClient) -> None:
    first = record_run()
    with runcard.record(inputs=[os.path.join(first.path, "report.md")]) as second:
        pass
    text = page.get(f"/runs/{first.id}/lineage").text
    assert second.id in text
    address = next(part.split('"')[0] for part in text.split('href="') if part.startswith("/records/run-"))
    assert page.get(address).url.path == f"/runs/{second.id}"
    assert first.id in page.get(f"/runs/{second.id}/lineage").text


def test_several_records_with_one_id_are_told_apart(page: TestClient) -> None:
    import shutil  # noqa: PLC0415

    run = record_run()
    copy = f"{run.path}-copy"
    shutil.copytree(run.path, copy)
    text = page.get(f"/runs/{run.id}").text
    assert "1 other record with this id" in text
    listed = page.get("/runs").text
    assert listed.count(f"/runs/{run.id}?at=") == 2


def test_a_name_that_is_not_utf8_can_be_opened(page: TestClient) -> None:
    with runcard.record() as run:
        Path(os.fsdecode(os.fsencode(run.path) + b"/out\xff.txt")).write_text("hello")
    text = page.get(f"/runs/{run.id}").text
    assert r"out\xff.txt" in text
    address = text.split('hx-get="')[1].split('"')[0].replace("&amp;", "&")
    assert "hello" in page.get(address).text
    assert page.get(address.replace("/preview", "/download")).content == b"hello"


def test_a_cost_has_its_own_source_not_that_of_the_counts(page: TestClient) -> None:
    run = record_run()
    text = page.get(f"/runs/{run.id}").text
    cost = text.split('<span class="figure-title">Cost</span>')[1].split("</div>")[0]
    assert "by the price table" in cost
    assert "by the price table" not in text.split("Input tokens")[1].split("</div>")[0]


def test_a_maker_that_started_later_is_marked(page: TestClient) -> None:
    Path("given.txt").write_text("the same")
    with runcard.record(inputs=["given.txt"]) as reader:
        pass
    ended = time.time_ns() // 1_000_000
    wait_until(lambda: time.time_ns() // 1_000_000 > ended, "the next millisecond: runs have such times")
    with runcard.record() as maker:
        (maker.path / "made.txt").write_text("the same")
    assert "made later: given.txt" in page.get(f"/runs/{reader.id}/lineage").text
    assert "read earlier: made.txt" in page.get(f"/runs/{maker.id}/lineage").text


def test_a_signature_by_an_unknown_key_is_not_just_signed(page: TestClient, listener: object) -> None:
    from runcard.signing.private_keys import generate_key  # noqa: PLC0415

    run = record_run()
    generate_key("key", "me")
    subprocess.run((*RUNCARD, "sign", run.path, "--key", "key"), check=True, capture_output=True)
    own = {"origin": listener.url, "hx-request": "true"}  # type: ignore[attr-defined]
    answer = page.post(f"/runs/{run.id}/verify", headers=own).text
    assert "Signed by an unknown key" in answer
    assert "Anyone can make such a key" in answer
    assert ">Signed<" not in answer


def test_what_happened_after_the_signature(page: TestClient, listener: HttpListener) -> None:
    from runcard.operations.amendments.redact import redact  # noqa: PLC0415
    from runcard.signing.private_keys import generate_key  # noqa: PLC0415

    run = record_run()
    generate_key("key", "me")
    subprocess.run((*RUNCARD, "sign", run.path, "--key", "key"), check=True, capture_output=True)
    redact(run.path, files=["experiment.jsonl"], reason="private")
    own = {"origin": listener.url, "hx-request": "true"}
    changed = page.post(f"/runs/{run.id}/verify", headers=own).text
    assert "Changed after it was signed" in changed
    assert "before 1 change that nobody signed" in changed
    (Path(run.path) / "added.txt").write_text("x")
    damaged = page.post(f"/runs/{run.id}/verify", headers=own).text
    assert "Damaged after it was signed" in damaged
    assert "before this damage" in damaged


def _stamped(record: str, authority: Authority) -> None:
    from runcard.operations.signatures.time_authority import open_source  # noqa: PLC0415
    from runcard.operations.signatures.timestamp import timestamp  # noqa: PLC0415

    timestamp(record, open_source(request="a.tsq"))
    reply = authority.replies_to(Path("a.tsq"), Path("a.tsr"))
    timestamp(record, open_source(response=str(reply)))


def test_a_time_stamp_counts_by_the_authorities_that_the_reader_trusts(
    page: TestClient, listener: HttpListener, tmp_path: Path
) -> None:
    from runcard.operations.signatures.time_authority import TimePolicy, open_authorities  # noqa: PLC0415

    run, authority = record_run(), Authority(tmp_path / "authority")
    _stamped(run.path, authority)
    own = {"origin": listener.url, "hx-request": "true"}
    unknown = page.post(f"/runs/{run.id}/verify", headers=own).text
    assert "Time-stamped by an unknown authority" in unknown
    assert ">Time-stamped<" not in unknown
    trust = ReaderTrust(authorities=TimePolicy(open_authorities(authority.root)))
    trusting = TestClient(make_app(listener, trust=trust), base_url=listener.url)
    known = trusting.post(f"/runs/{run.id}/verify", headers=own).text
    assert ">Time-stamped<" in known
    assert "by Example TSA, trusted by" in known
    assert trusting.post(f"/api/runs/{run.id}/verify", json={}).json()["records"][0]["timestamps"]


def test_the_page_has_the_version_of_the_program(page: TestClient) -> None:
    with runcard.record(application="persona", application_version="0.9.7") as run:
        pass
    text = page.get(f"/runs/{run.id}").text
    assert "persona version" in text
    assert "0.9.7" in text
