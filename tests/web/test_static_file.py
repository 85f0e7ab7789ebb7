"""`runcard export --to html`: the page of a record as one file that needs no server."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from conftest import Cli
from plans.projects import RubyProject
from runcard.errors import RuncardError
from runcard.web import static_file
from runcard.web.static_file import static_page
from web.sample_records import SESSION, import_session, record_run


class Seen(HTMLParser):
    """What is in a file that could run, load or send."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.bad: list[str] = []
        self.feed(data.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"script", "link", "iframe", "form", "object", "embed", "base"}:
            self.bad.append(tag)
        for name, value in attrs:
            is_remote = name == "src" and not (value or "").startswith("data:image/")
            is_link = name == "href" and not (value or "").startswith(("https://", "http://", "mailto:"))
            if name.startswith(("on", "hx-", "style")) or is_remote or is_link:
                self.bad.append(f"{tag} {name}={value}")


def test_a_run_with_its_files_and_events(place: Path) -> None:
    assert place.is_dir()
    page = static_page(record_run().path)
    text = page.data.decode()
    assert Seen(page.data).bad == []
    for part in (
        "accuracy",
        "model.called",
        "<strong>bold</strong>",
        "Ada",
        "data:image/png;base64,",
        "question.txt",
    ):
        assert part in text
    assert "&lt;script&gt;alert(2)&lt;/script&gt;" in text
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    assert policy
    assert "default-src &#x27;none&#x27;" in policy[1]
    assert "unsafe" not in policy[1]


def test_a_session(place: Path) -> None:
    session = import_session(place.parent / "home")
    page = static_page(session.path)
    assert page.id == SESSION
    assert Seen(page.data).bad == []
    assert b"The team" in page.data
    assert b"Audit trail" in page.data
    assert re.search(rb'</h1><span class="status (good|bad)">(completed|failed)</span>', page.data)
    assert page.data.count(b"<rect") == page.data.count(b"/>")  # an open one would hold the next


def test_a_plan(place: Path) -> None:
    project = RubyProject(place)
    page = static_page(str(project.write()))
    assert Seen(page.data).bad == []
    assert b"RSpec.describe" in page.data


def test_hostile_names_do_not_run(place: Path) -> None:
    assert place.is_dir()
    run = record_run(**{"</style><script>alert(1)</script>": '"><img src=x onerror=alert(1)>'})
    page = static_page(run.path)
    assert Seen(page.data).bad == []
    assert b"&lt;script&gt;alert(1)" in page.data


def test_what_does_not_fit_is_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert place.is_dir()
    run = record_run()
    monkeypatch.setattr(static_file, "MOST_PARTS", 10)
    assert b"Cut: not in this file" in static_page(run.path).data
    monkeypatch.setattr(static_file, "MOST_BYTES", 1000)
    with pytest.raises(RuncardError, match="MiB"):
        static_page(run.path)


def test_the_command_writes_a_new_file(place: Path, cli: Cli) -> None:
    run = record_run()
    target = str(place / "run.html")
    done = cli("export", run.path, "--to", "html", "-o", target, "--json")
    assert json.loads(done.out)["paths"] == [target]
    again = cli("export", run.path, "--to", "html", "-o", target)
    assert again.code == 1
    assert f"{target} exists" in again.err
    printed = cli("export", run.path, "--to", "html")
    assert printed.out.startswith("<!doctype html>")
    two = cli("export", run.path, run.path, "--to", "html")
    assert "one record" in two.err
