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


def _get(server: PageServer, path: str, *, token: str | None = None) -> tuple[int, bytes]:
    parts = urlsplit(server.url)
    with closing(http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)) as connection:
        connection.request("GET", path, headers={"authorization": f"Bearer {token}"} if token else {})
        answer = connection.getresponse()
        return answer.status, answer.read()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_a_signal_and_prints_nothing_else(place: Path, number: int) -> None:
    with PageServer(place) as server:
        assert server.printed.startswith("Serving the page at http://127.0.0.1:")
        status, body = _get(server, "/", token=server.token)
        assert (status, b"There are no records yet" in body) == (200, True)
        assert server.end(number) == (0, "")


@pytest.mark.parametrize("options", [(), ("--token",)])
def test_the_printed_address_is_the_key(place: Path, options: tuple[str, ...]) -> None:
    with PageServer(place, *options) as server:
        assert server.token
        assert _get(server, "/")[0] == 401
        assert _get(server, urlsplit(server.address).path + "?" + urlsplit(server.address).query)[0] == 303


def test_without_a_token_everybody_on_this_machine_comes_in(place: Path) -> None:
    with PageServer(place, "--no-token") as server:
        assert "token" not in server.printed
        assert _get(server, "/")[0] == 200


def test_a_token_of_the_user_is_not_printed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNCARD_SERVE_TOKEN", "a-token-of-a-good-length")
    with PageServer(place) as server:
        assert "token" not in server.printed
        assert _get(server, "/")[0] == 401
        assert _get(server, "/", token="a-token-of-a-good-length")[0] == 200  # noqa: S106 - of this test


def test_another_address_without_a_token_is_refused(cli: Cli) -> None:
    done = cli("serve", "--no-open", "--no-token", "--host", "0.0.0.0")  # noqa: S104 - that is what is tested
    assert done.code == 64
    assert "the page at 0.0.0.0 needs a token" in done.err
    assert "leave out --no-token" in done.err


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
            connection.request(
                "GET", f"/runs/{run}/live", headers={"authorization": f"Bearer {server.token}"}
            )
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
