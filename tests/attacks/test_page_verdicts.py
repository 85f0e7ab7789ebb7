"""A record is verified on the page, and changed afterwards: the page does not go on to call it intact."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from acceptance.command import RUNCARD
from runcard.local_http.listener import HttpListener
from runcard.operations.archives.archive import archive
from runcard.operations.checks.verify import verify
from runcard.web import record_fingerprint
from web.conftest import listener, page, place
from web.sample_records import SESSION, import_session, record_run

__all__ = ["listener", "page", "place"]
_OUTDATED = "changed after it was verified"


def _same_size_and_time(path: Path) -> None:
    before = path.stat()
    path.write_bytes(path.read_bytes()[::-1])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _replace(path: Path) -> None:
    copy = path.with_name("copy")
    shutil.copy2(path, copy)
    copy.write_bytes(path.read_bytes()[::-1])
    shutil.copystat(path, copy)
    copy.rename(path)


def _link(run: Path) -> None:
    (run / "report.md").unlink()
    (run / "report.md").symlink_to("data.json")


def _ledger(run: Path) -> Path:
    return next((run.parent / ".runcard").glob("ledger-*.jsonl"))


def _rewrite_ledger(run: Path) -> None:
    ledger = _ledger(run)
    ledger.write_bytes(ledger.read_bytes().replace(b"record.closed", b"record.closer"))


def _forge_entry(run: Path) -> None:
    """A line about the record that does not spell its id as the others do."""
    ledger = _ledger(run)
    line = ledger.read_bytes().splitlines()[0].replace(b'"id":"run-', b'"id":"\\u0072un-')
    ledger.write_bytes(ledger.read_bytes() + line + b"\n")


def _ledger_of_another_host(run: Path) -> None:
    shutil.copy(_ledger(run), run.parent / ".runcard" / "ledger-other.jsonl")


def _add_anchor(run: Path) -> None:
    (run.parent / ".runcard" / "anchors").mkdir()
    (run.parent / ".runcard" / "anchors" / "a.json").write_text("{}")


_CHANGES: dict[str, Callable[[Path], object]] = {
    "an output": lambda run: (run / "report.md").write_text("other"),
    "an output, with its size and time": lambda run: _same_size_and_time(run / "report.md"),
    "an output, replaced by a copy": lambda run: _replace(run / "report.md"),
    "an output that is gone": lambda run: (run / "report.md").unlink(),
    "a file that was added": lambda run: (run / "added.txt").write_text("x"),
    "the journal": lambda run: _same_size_and_time(run / "experiment.jsonl"),
    "the checksums": lambda run: (run / "SHA256SUMS").write_text(""),
    "an amendment": lambda run: (run / "amendments.jsonl").write_text("{}\n"),
    "a signature": lambda run: (run / "metadata.json.sig").write_text("{}\n"),
    "a link in place of a file": _link,
    "the ledger": _rewrite_ledger,
    "a line of the ledger": _forge_entry,
    "the ledger of another host": _ledger_of_another_host,
    "the ledger that is gone": lambda run: _ledger(run).unlink(),
    "an anchor": _add_anchor,
}


def _verify(page: TestClient, listener: HttpListener, address: str) -> str:
    return page.post(f"{address}/verify", headers={"origin": listener.url, "hx-request": "true"}).text


@pytest.mark.parametrize("change", _CHANGES.values(), ids=_CHANGES)
def test_what_is_changed_is_not_called_intact(
    page: TestClient, listener: HttpListener, change: Callable[[Path], object]
) -> None:
    run = record_run()
    address = f"/runs/{run.id}"
    assert "Intact" in _verify(page, listener, address)
    assert "Intact" in page.get(address).text
    assert "1 is not verified yet" not in page.get("/home/checks").text
    change(Path(run.path))
    text = page.get(address).text
    assert _OUTDATED in text
    assert "Intact" not in text
    checks = page.get("/home/checks").text
    assert "1 is not verified yet" in checks
    assert "changed since it was verified" in checks


def test_a_record_that_is_restored_must_be_verified_again(page: TestClient, listener: HttpListener) -> None:
    run = record_run()
    report = Path(run.path) / "report.md"
    before = report.read_bytes()
    assert "Intact" in _verify(page, listener, f"/runs/{run.id}")
    report.write_text("other")
    report.write_bytes(before)
    assert _OUTDATED in page.get(f"/runs/{run.id}").text
    assert "Intact" in _verify(page, listener, f"/runs/{run.id}")
    assert _OUTDATED not in page.get(f"/runs/{run.id}").text


def test_new_records_of_the_store_change_nothing(page: TestClient, listener: HttpListener) -> None:
    run = record_run()
    assert "Intact" in _verify(page, listener, f"/runs/{run.id}")
    for _ in range(3):
        record_run()
        assert "Intact" in page.get(f"/runs/{run.id}").text
    subprocess.run((*RUNCARD, "rm", run.path, "--yes"), capture_output=True, check=True)
    assert "Intact" not in page.get(f"/runs/{run.id}").text


def test_a_session_and_an_archive_as_well(page: TestClient, listener: HttpListener, place: Path) -> None:
    session = import_session(place.parent / "home")
    address = f"/sessions/{SESSION}"
    assert "Intact" in _verify(page, listener, address)
    inside = next(path for path in Path(session.path).rglob("*.jsonl") if path.is_file())
    _same_size_and_time(inside)
    assert _OUTDATED in page.get(address).text
    run = record_run()
    address = f"/runs/{run.id}"
    packed = archive(run.path)
    assert "Intact" in _verify(page, listener, address)
    assert "Intact" in page.get(address).text
    _same_size_and_time(Path(packed.archive_path))
    assert "Intact" not in page.get(address).text


def test_of_many_files_it_says_that_it_looks_at_a_part(
    page: TestClient, listener: HttpListener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_fingerprint, "_MOST_ENTRIES", 4)
    run = record_run()
    assert "Intact" in _verify(page, listener, f"/runs/{run.id}")
    text = page.get(f"/runs/{run.id}").text
    assert "too many files" in text
    (Path(run.path) / "SHA256SUMS").write_text("")
    assert _OUTDATED in page.get(f"/runs/{run.id}").text


def test_a_change_while_it_is_verified_counts_as_one_after(
    page: TestClient, listener: HttpListener, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = record_run()

    def verify_and_change(path: str) -> object:
        found = list(verify(path))
        (Path(path) / "report.md").write_text("other")
        return found

    monkeypatch.setattr("runcard.web.verification.verify", verify_and_change)
    assert "Intact" in _verify(page, listener, f"/runs/{run.id}")
    assert _OUTDATED in page.get(f"/runs/{run.id}").text
