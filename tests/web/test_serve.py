"""`runcard serve` as people start it."""

import http.client
import signal
import subprocess
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from acceptance.command import RUNCARD
from conftest import Cli
from web.page_server import PageServer


def _get(server: PageServer, path: str, **headers: str) -> tuple[int, bytes]:
    parts = urlsplit(server.url)
    with closing(http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)) as connection:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_a_signal_and_prints_nothing_else(place: Path, number: int) -> None:
    with PageServer(place) as server:
        assert server.printed.startswith("Serving the page at http://127.0.0.1:")
        assert "token" not in server.printed
        status, body = _get(server, "/")
        assert (status, b"There are no records yet" in body) == (200, True)
        assert server.end(number) == (0, "")


def test_with_a_token_the_printed_address_is_the_key(place: Path) -> None:
    with PageServer(place, "--token") as server:
        assert "/?token=" in server.address
        assert _get(server, "/")[0] == 401
        assert _get(server, urlsplit(server.address).path + "?" + urlsplit(server.address).query)[0] == 303


def test_another_address_needs_a_token_and_says_what_that_exposes(place: Path) -> None:
    with PageServer(place, "--host", "0.0.0.0") as server:  # noqa: S104 - that is what is tested
        assert "/?token=" in server.address
        assert _get(server, "/")[0] in {401, 421}
        code, errors = server.end(signal.SIGTERM)
    assert code == 0
    assert "sees all records of this machine with their files and transcripts" in errors
    assert "unencrypted" in errors


def test_an_open_page_that_watches_does_not_keep_the_server(place: Path) -> None:
    program = "import runcard, time\nwith runcard.record() as run:\n    print(run.id, flush=True)\n    time.sleep(60)\n"
    child = subprocess.Popen(
        (RUNCARD[0], "-c", program), cwd=place, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert child.stdout is not None
        run = child.stdout.readline().strip()
        with PageServer(place) as server:
            parts = urlsplit(server.url)
            connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
            connection.request("GET", f"/runs/{run}/live")
            answer = connection.getresponse()
            assert answer.headers["content-type"].startswith("text/event-stream")
            assert b"run.started" in answer.readline() + answer.readline() + answer.readline()
            assert server.end(signal.SIGTERM)[0] == 0
            answer.close()
            connection.close()
    finally:
        child.kill()
        child.communicate()


def test_a_wrong_budget_is_explained(cli: Cli) -> None:
    done = cli("serve", "--no-open", "--budget", "much")
    assert done.code == 64
    assert "is not an amount in dollars" in done.err
