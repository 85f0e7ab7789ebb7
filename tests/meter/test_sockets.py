"""The system calls of a metered run: runcard listens on the loopback interface, and connects to the upstream alone."""

import re
import sys
from pathlib import Path

import pytest

from meter.records import RUNCARD, assert_equals, finish_run
from meter.scripted_upstream import ScriptedUpstream
from meter.test_sdk_calls import sdk_environment

_REQUESTS = Path(__file__).with_name("plain_requests.py")
_ADDRESS = re.compile(
    r"(connect|bind|sendto|sendmsg)\(.*(?:sin6?_port=htons\((\d+)\)).*?(?:inet_addr\(\"|inet_pton\(AF_INET6, \")([^\"]+)"
)


@pytest.mark.needs("strace")
def test_there_is_no_socket_to_any_address_but_the_upstreams(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    trace, env = tmp_path / "trace", sdk_environment(tmp_path, upstream.url)
    tracer = [
        "strace",
        "-f",
        "-qq",
        "-o",
        str(trace),
        "-e",
        "trace=socket,connect,bind,listen,sendto,sendmsg",
    ]
    outer = [*tracer, *RUNCARD, "run", "--", sys.executable, str(_REQUESTS), "call", "stream", "no-calls"]
    run = finish_run(outer, env, tmp_path / "work")
    assert run.code == 0, run.err
    assert_equals(run, upstream)
    text = trace.read_text()
    places = {(call, address, int(port)) for call, port, address in _ADDRESS.findall(text)}
    (port,) = {port for call, _, port in places if call == "connect"} - {upstream.server_address[1]}
    relay = ("127.0.0.1", port)
    assert places == {
        ("bind", "127.0.0.1", 0),
        ("connect", *relay),  # by the program
        ("connect", "127.0.0.1", upstream.server_address[1]),
    }
    families = set(re.findall(r"socket\((AF_\w+)", text))
    assert families <= {"AF_INET", "AF_UNIX"}, families
