"""Where the relay sends requests on to."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcard.observe.meter.routes import Route, Routes, UnusableUrlError, split_url, true_url, upstreams_in

BASE = "http://127.0.0.1:4711/00112233445566778899aabbccddeeff"


@pytest.mark.parametrize(
    ("url", "relay", "origin"),
    [
        ("https://api.anthropic.com", "/x", "https://api.anthropic.com"),
        ("https://api.openai.com/v1", "/x/v1", "https://api.openai.com"),
        ("https://gateway.example/a/b/", "/x/a/b/", "https://gateway.example"),
        ("HTTPS://Gateway.Example:8443/A", "/x/A", "https://gateway.example:8443"),
        ("http://[::1]:8080/v1", "/x/v1", "http://[::1]:8080"),
        ("http://[2001:DB8::1]", "/x", "http://[2001:db8::1]"),
        ("https://gateway.example?key=1", "/x?key=1", "https://gateway.example"),
        ("https://gateway.example/v1?key=a/b#c", "/x/v1?key=a/b#c", "https://gateway.example"),
        ("  https://gateway.example/v1\n", "/x/v1", "https://gateway.example"),
        ("http://local_host:1", "/x", "http://local_host:1"),
    ],
)
def test_a_base_url_becomes_one_of_the_relay_with_the_same_path(url: str, relay: str, origin: str) -> None:
    routes = Routes(BASE)
    assert routes.url("x", url) == BASE + relay
    assert routes.find("x") == Route("x", origin)
    assert routes.upstreams == {f"{BASE}/x": origin}


def test_user_name_and_password_stay_with_the_program() -> None:
    """Its library makes a header of them; the relay does not need them."""
    routes = Routes(BASE)
    assert (
        routes.url("x", "https://me:pa%20ss@gateway.example/v1")
        == BASE.replace("//", "//me:pa%20ss@") + "/x/v1"
    )
    assert "pa%20ss" not in str(routes.upstreams)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.openai.com/v1",
        "ftp://gateway.example",
        "unix:///run/socket",
        "https://",
        "https:///v1",
        "https://:443",
        "https://gateway.example:99999",
        "https://gateway.example:-1",
        "https://gateway.example:",
        "https://gateway.example:8o",
        "https://a@b@gateway.example",
        "https://gate way.example",
        "https://gateway.example/\\evil.example",
        "https://gateway.example\\@evil.example",
        "https://gateway.example/\r\nX: 1",
        "https://gateway.example/\x00",
        "https://gäteway.example",
        "https://[::1",
        "https://[gateway]",
        "https://${HOST}/v1",
        "https://\udcff.example",
    ],
)
def test_a_url_that_libraries_read_differently_is_not_used(url: str) -> None:
    routes = Routes(BASE)
    with pytest.raises(UnusableUrlError):
        routes.url("x", url)
    assert routes.upstreams == {}


@given(st.text(max_size=60).map(lambda text: f"https://{text}"))
def test_no_url_gets_another_host_than_urllib_reads(url: str) -> None:
    from urllib.parse import urlsplit  # noqa: PLC0415

    try:
        user, origin, _ = split_url(url)
    except UnusableUrlError:
        return
    parts = urlsplit(url.strip())
    assert (
        origin.partition("://")[2].partition(":")[0].strip("[]") == (parts.hostname or "").partition(":")[0]
    )
    assert user == ("" if "@" not in parts.netloc else parts.netloc.rpartition("@")[0] + "@")


def test_one_host_has_one_route_and_another_host_another_name() -> None:
    routes = Routes(BASE)
    urls = [
        routes.url("openai", url)
        for url in ("https://a.example/v1", "https://a.example/v2", "https://b.example", "https://c.example")
    ]
    assert urls == [f"{BASE}/openai/v1", f"{BASE}/openai/v2", f"{BASE}/openai-2", f"{BASE}/openai-3"]


@pytest.mark.parametrize(
    ("upstream", "rest", "target"),
    [
        ("https://api.anthropic.com", b"/messages?beta=true", b"/v1/messages?beta=true"),
        ("https://api.anthropic.com", b"/messages", b"/v1/messages"),
        ("https://api.anthropic.com", b"/models/claude", b"/v1/models/claude"),
        ("https://api.anthropic.com", b"/v1/messages", b"/v1/messages"),
        ("https://api.anthropic.com", b"/api/hello", b"/api/hello"),
        ("https://api.anthropic.com", b"", b""),
        ("https://gateway.example", b"/messages", b"/messages"),
        ("https://generativelanguage.googleapis.com", b"/models/m:x?alt=sse", b"/v1beta/models/m:x?alt=sse"),
        ("https://generativelanguage.googleapis.com", b"/v1beta/models/m:x", b"/v1beta/models/m:x"),
        (
            "https://generativelanguage.googleapis.com",
            b"/chat/completions",
            b"/v1beta/openai/chat/completions",
        ),
        ("https://api.groq.com", b"/chat/completions", b"/openai/v1/chat/completions"),
        ("https://api.groq.com", b"/openai/v1/chat/completions", b"/openai/v1/chat/completions"),
        ("https://api.mistral.ai", b"/chat/completions", b"/v1/chat/completions"),
        ("https://api.mistral.ai", b"/v1/chat/completions", b"/v1/chat/completions"),
        ("https://api.x.ai", b"/chat/completions", b"/v1/chat/completions"),
        ("https://openrouter.ai", b"/chat/completions", b"/api/v1/chat/completions"),
        ("https://openrouter.ai", b"/v1/x", b"/api/v1/x"),
        ("https://openrouter.ai", b"/api/v1/chat/completions", b"/api/v1/chat/completions"),
        ("https://api.deepseek.com", b"/chat/completions", b"/v1/chat/completions"),
        ("https://api.fireworks.ai", b"/chat/completions", b"/inference/v1/chat/completions"),
        ("https://api.together.ai", b"/chat/completions", b"/v1/chat/completions"),
        ("https://api.perplexity.ai", b"/chat/completions", b"/chat/completions"),
        ("https://api.moonshot.ai", b"/chat/completions", b"/v1/chat/completions"),
        ("https://api.cerebras.ai", b"/chat/completions", b"/v1/chat/completions"),
    ],
)
def test_a_host_gets_the_beginning_that_some_libraries_expect_in_the_base_url(
    upstream: str, rest: bytes, target: bytes
) -> None:
    assert Route("x", upstream).whole_path(rest) == target


def test_litellm_calls_another_version_of_deepseek() -> None:
    route = Route("x", "https://api.deepseek.com")
    assert route.whole_path(b"/chat/completions", b"litellm/1.109.1") == b"/beta/chat/completions"
    assert route.whole_path(b"/chat/completions", b"OpenAI/Python 3.51.0") == b"/v1/chat/completions"


@pytest.mark.parametrize(
    ("url", "true"),
    [
        (f"{BASE}/x", "https://a.example"),
        (f"{BASE}/x/v1/", "https://a.example/v1/"),
        (f"{BASE}/x?key=1", "https://a.example?key=1"),
        (BASE.replace("//", "//me:secret@") + "/x/v1", "https://me:secret@a.example/v1"),
        (f"{BASE}/xy/v1", f"{BASE}/xy/v1"),
        (f"{BASE}/y", "http://[::1]:1"),
        ("https://b.example/v1", "https://b.example/v1"),
        ("", ""),
    ],
)
def test_a_url_of_the_relay_leads_back_to_the_true_one(url: str, true: str) -> None:
    assert true_url(url, {f"{BASE}/x": "https://a.example", f"{BASE}/y": "http://[::1]:1"}) == true


@pytest.mark.parametrize(
    "value",
    [
        *(None, "", "[]", "{", "1", '"x"', "\udcff", '{"a": "b"}', '{"http://127.0.0.1:1/x": 1}'),
        *(
            json.dumps({"http://127.0.0.1:1/x": upstream})
            for upstream in (
                "http://a\0b",
                "http://a\nb",
                "file:///etc",
                "http://a/b",
                "http://u@a",
                "http://\ud800",
            )
        ),
        '{"http://a.example/x": "http://b.example"}',
        "[" * 100_000,
    ],
)
def test_a_variable_of_another_form_is_ignored(value: str | None) -> None:
    assert upstreams_in(value) == {}
