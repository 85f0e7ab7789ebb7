"""Masking secrets, compared with the simple way: every pattern over the whole text, in turn.

The text is mixed: a quarter each of logs, code, prose and JSON, with a secret in every 64 KiB or so. The simple way has
the same prefixes and keywords, but does not search by rare bytes or evaluate names and values, so it does less work.
Texts that are dense with assignments have detect-secrets as their peer; it only searches, line by line.
The slowest of many hostile texts comes last; a text of nothing but secrets, one in every 16 bytes, is not among them.
"""

import contextlib
import json
import re
import sysconfig
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from time import process_time

from bench import peers
from bench.measuring import race, scratch
from bench.table import Row, Target, Times
from runcard.masking import mask_bytes
from runcard.masking.rules import KEY_PREFIXES

MEGABYTE = 1_000_000
HOSTILE = (
    *(
        b"a",
        b"=",
        b'"',
        b"'\"`",
        b'\\"',
        b"_",
        b".",
        b"-",
        b"A",
        b"/",
        b"key=",
        b"?key=",
        b"token=",
        b"auth",
        b" key",
    ),
    *(
        b"password ",
        b"password=",
        b'password="',
        b"password: '",
        b"password is ",
        b"define('PASSWORD', '",
        b"<password>",
    ),
    *(
        b"sk-",
        b"sk-ant-",
        b"ghp_",
        b"xoxb-",
        b"AKIA",
        b"8Q~",
        b"1//0",
        b".atlasv1.",
        b"ntn_1",
        b"eyJ",
        b"neyJ",
        b".eyJ",
    ),
    *(
        b"://",
        b"://a:",
        b"-----BEGIN ",
        b"-----BEGIN PRIVATE KEY-----\n",
        b"PuTTY-User-Key-File-2: ",
        b"LS0tLS1CRUdJTiB",
    ),
    *(b"Authorization: ", b"Cookie: a=", b"Bearer ", b" -u a:", b"--token ", b"[masked:", b"\n", b"\\"),
)
NAMES = rb"password|passwd|pwd|passphrase|secret|credential|authorization|cookie|(?:api|access|private)[_-]?key|token"


def measure(*, quick: bool = False) -> Iterator[Row]:
    random = Random(1)  # noqa: S311
    size = 250_000 if quick else 2 * MEGABYTE
    parts = {
        "logs": logs(random, size),
        "code": code(size),
        "prose": prose(random, size),
        "JSON": records(random, size),
    }
    for name, text in parts.items():
        yield _row(f"mask 1 MB of {name}", text, 40, quick=quick)
    mixed = with_secrets(random, b"".join(parts.values()))
    yield _row("mask 1 MB of all that, with some secrets", mixed, 40, quick=quick)
    for name, text in dense(random, size).items():
        yield _row(f"mask 1 MB of {name}", text, 20, quick=quick, peer="detect-secrets")
    texts = hostile(random, size)
    slowest = max((_milliseconds(mask_bytes, text), name) for name, text in texts.items())[1]
    ours = Times.of(_milliseconds(mask_bytes, texts[slowest]) for _ in range(3))
    work = f"mask 1 MB, the slowest of {len(texts)} hostile texts ({slowest})"
    yield Row(work, ours, "", None, "ms CPU", Target("<=", 200, "ms CPU"))


def hostile(random: Random, size: int) -> dict[str, bytes]:
    """Texts that make patterns scan the same bytes again and again."""
    made = {f"{unit.decode()!r} again and again": _filled(unit, size) for unit in HOSTILE}
    wall = b64encode(random.randbytes(size))[:size]
    made["base64 on one line"] = wall
    made["base64 in lines"] = b"\n".join(wall[at : at + 76] for at in range(0, size, 77))
    made["one line of 50 MB"] = b"a" * (25 * size)
    return made


def _row(work: str, text: bytes, least: int, *, quick: bool, peer: str = "") -> Row:
    """At least this many MB/s; the peer searches a sample, because it is slow."""
    sample = b"".join(text[at : at + 4096] for at in range(0, len(text), len(text) // 32))
    label = peers.unavailable(peer) or peer if peer else "every pattern in turn (re)"
    with scratch() as folder, contextlib.ExitStack() as stack:
        (folder / "text").write_bytes(sample)
        if not peer:
            runners = {"peer": lambda: _milliseconds(plainly, sample)}
        elif peers.unavailable(peer):
            runners = {}
        else:
            process = stack.enter_context(peers.PeerProcess(peer, folder))
            runners = {"peer": lambda: process() * 1000 / (len(sample) / MEGABYTE)}
        rounds = 3 if quick else 9
        times = race({"ours": lambda: _milliseconds(mask_bytes, text), **runners}, rounds)
    target = Target("<=", 1000 / least, "ms CPU")
    return Row(work, times["ours"], label, times.get("peer"), "ms CPU", target)


def _milliseconds(work: Callable[[bytes], object], text: bytes) -> float:
    began = process_time()
    work(text)
    return (process_time() - began) * 1000 / (len(text) / MEGABYTE)


def plainly(text: bytes) -> bytes:
    for pattern in PLAIN:
        text = pattern.sub(b"[masked]", text)
    return text


PLAIN = [
    *(
        re.compile(
            f"(?<![{prefix.edge}]){'|'.join(prefix.before) and f'(?:{chr(124).join(prefix.before)})'}{re.escape(prefix.literal)}{prefix.body}[{prefix.more or 'a'}]*".encode()
        )
        for prefix in KEY_PREFIXES
    ),
    re.compile(rb"(?i)(?:" + NAMES + rb")[a-z0-9_.-]{0,40}[\"']?\s{0,4}[:=]\s{0,4}[\"']?([^\s\"']{6,})"),
    re.compile(rb"(?i)\bbearer\s+[a-z0-9._~+/=-]{16,}"),
    re.compile(rb"://[^\s:/?#@]{0,128}:[^\s/?#]{1,128}@"),
    re.compile(rb"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.{0,8192}?-----END", re.DOTALL),
    re.compile(rb"(?i)--(?:" + NAMES + rb") \S+"),
]


def logs(random: Random, size: int) -> bytes:
    lines = [
        f"2026-11-15T10:{random.randrange(60):02d}:{random.randrange(60):02d}.{random.randrange(1000):03d}Z INFO "
        f"worker-{random.randrange(9)} request id={random.getrandbits(64):016x} status=200 "
        f"input_tokens={random.randrange(9999)} path=/v1/messages/{random.getrandbits(32):08x} "
        f"latency_ms={random.random() * 1000:.1f}\n"
        for _ in range(2000)
    ]
    return _filled("".join(lines).encode(), size)


def code(size: int) -> bytes:
    files = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    return _filled(b"".join(path.read_bytes() for path in files[:160]), size)


def prose(random: Random, size: int) -> bytes:
    words = re.findall(
        rb"[A-Za-z]+", Path(sysconfig.get_path("stdlib"), "pydoc_data", "topics.py").read_bytes()
    )
    return _filled(b". ".join(b" ".join(random.choices(words, k=12)) for _ in range(20_000)), size)


def records(random: Random, size: int) -> bytes:
    words = ["the", "model", "answers", "with", "tokens", "and", "a", "key", "point", "about", "authors"]
    lines = [
        json.dumps(
            {
                "type": "assistant",
                "uuid": f"550e8400-e29b-41d4-a716-{random.getrandbits(48):012x}",
                "message": {
                    "id": f"msg_01{random.getrandbits(80):020x}",
                    "model": "claude-sonnet-4-5-20250929",
                    "usage": {"input_tokens": random.randrange(9999), "output_tokens": 55},
                    "content": [{"type": "text", "text": " ".join(random.choices(words, k=40))}],
                },
                "timestamp": "2026-11-15T10:15:00.123Z",
                "sha256": f"{random.getrandbits(256):064x}",
            }
        )
        for _ in range(2000)
    ]
    return _filled("\n".join(lines).encode(), size)


def dense(random: Random, size: int) -> dict[str, bytes]:
    """Texts in which every few words are the name of a secret: one line in three is one, or none is."""
    variables = (
        "DB_PASSWORD",
        "API_KEY",
        "SECRET_KEY_BASE",
        "REDIS_URL",
        "LOG_LEVEL",
        "PORT",
        "MAX_TOKENS",
        "KEY_PATH",
    )
    values = ("changeme", "${OTHER}", "/etc/app/key.pem", "8080")
    lines = [
        f"APP{random.randrange(99)}_{random.choice(variables)}="
        f"{random.choice((*values, f'{random.getrandbits(96):024x}'))}\n"
        for _ in range(4000)
    ]
    names = ("key", "e.key", "t.token", "n.auth", "keyCode", "apiKey", "cookie", "credentials")
    code = [
        random.choice(("{0}:{1}.x,", "{0}={1}(7),", 'var {0}="Enter";', "if({0}==={1}.b)return {0};")).format(
            random.choice(names), random.choice("abcdefg")
        )
        for _ in range(8000)
    ]
    logs = [
        f"time=2026-11-15T10:15:00Z level=info user_id={random.randrange(9**6)} session_token={random.getrandbits(128):032x} "
        f"auth=ok cache_key=users:{random.randrange(999)} max_tokens=4096 duration={random.random():.3f}s\n"
        for _ in range(4000)
    ]
    objects = [
        json.dumps(
            {
                "key": f"{random.getrandbits(32):08x}",
                "apiKey": f"{random.getrandbits(120):030x}",
                "tokens": random.randrange(99),
                "user": {"password": random.choice(("x", "changeme", f"{random.getrandbits(48):012x}"))},
            }
        )
        + "\n"
        for _ in range(4000)
    ]
    manifests = [
        f"kind: Secret\nmetadata:\n  name: app-{number}\ndata:\n  password: {random.getrandbits(96):024x}==\n"
        f"  api-key: {random.getrandbits(128):032x}\n---\nenv:\n  - name: DB_PASSWORD\n    valueFrom:\n      "
        f"secretKeyRef:\n        name: db-{number}\n        key: password\n---\n"
        for number in range(2000)
    ]
    made = {
        "variables, like in .env files": lines,
        "minified code about keys": code,
        "logs with names and values": logs,
        "JSON with secrets": objects,
        "YAML with secrets": manifests,
    }
    return {name: _filled("".join(text).encode(), size) for name, text in made.items()}


def with_secrets(random: Random, text: bytes) -> bytes:
    step = 64 * 1024
    parts = [text[at : at + step] for at in range(0, len(text), step)]
    return b"".join(part + f"\npassword=x9{random.getrandbits(64):x}\n".encode() for part in parts)


def _filled(text: bytes, size: int) -> bytes:
    return (text * (size // len(text) + 1))[:size]
