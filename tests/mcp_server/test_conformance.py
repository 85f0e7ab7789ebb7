"""The official conformance suite, against a real server over HTTP."""

import re
from pathlib import Path

import pytest

from mcp_server.http_server import HttpServer
from mcp_server.npm_tools import run_tool
from mcp_server.token_relay import token_relay

pytestmark = [pytest.mark.long, pytest.mark.needs("npm programs")]

EXPECTED = Path(__file__).with_name("conformance_expected.yml")
PASSING = {
    "server-initialize",
    "ping",
    "completion-complete",
    "tools-list",
    "server-sse-multiple-streams",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
}


def test_every_scenario_that_a_real_server_can_pass_passes(project: Path) -> None:
    with HttpServer(project, seconds=300) as server, token_relay(server) as url:
        options = ("--suite", "all", "--expected-failures", EXPECTED)
        done = run_tool("conformance", "server", "--url", url, *options, cwd=project)
    passed = set(re.findall(r"✓ ([\w-]+): [1-9]\d* passed, 0 failed", done.stdout))
    assert passed == PASSING, done.stdout[-3000:]
    assert done.returncode == 0, done.stdout[-3000:]
