"""Secrets that try to get into a record: in pieces, in arguments, names, errors and streams. None reaches any file."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import runcard
from attacks import command_server

RUNCARD = (sys.executable, "-m", "runcard")

# Put together here, so that no scanner for leaked keys finds one in this file.
SECRETS = {
    "vendor": "sk-ant-" + "api03-" + "Zx9-kQ3_" * 11 + "AA",
    "linear": "lin_" + "api_" + "q8W7e6R5t4" * 4,
    "grafana": "glsa" + "_" + "a1B2c3D4" * 4 + "_0a1b2c3d",
    "discord": "MT" + "Ix9Qz8Wy7Xv6Uu5Ts4Rr3" + ".Gx9Kq2." + "Pq8w7E6r5-T4y3_U2i1O0p9A8s7D6f5G4h3J",
    "key block": "-----BEGIN "
    "PRIVATE KEY-----\n" + "\n".join(["QmFzZTY0" * 8] * 4) + "\n-----END PRIVATE KEY-----",
}
PASSWORD = "Tr0ub4dor" + "-and-3"

CHILD = """
import os, sys, time
size, pause, stream = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
raw = open("secret.txt", "rb").read()
for at in range(0, len(raw), size):
    time.sleep(pause if at else 0)
    os.write(stream, raw[at : at + size])
"""


@pytest.fixture(autouse=True)
def _always_here(here: Path) -> None: ...


def start(*arguments: str, environ: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return command_server.runcard(Path.cwd(), *arguments, variables=environ)


def leaking(folder: Path, *secrets: str) -> list[str]:
    """The files below `folder` that hold a piece of a secret, in their bytes or in their names."""
    pieces = {secret[at : at + 12].encode() for secret in secrets for at in range(len(secret) - 11)}
    pieces = {
        piece
        for piece in pieces
        if b"PRIVATE KEY" not in piece and b"BEGIN" not in piece and b"-----" not in piece
    }
    found = []
    for path in folder.rglob("*"):
        held = path.read_bytes() if path.is_file() else b""
        if any(piece in held or piece in os.fsencode(path.name) for piece in pieces):
            found.append(str(path.relative_to(folder)))
    return found


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize(
    ("size", "pause", "stream"), [(1, 0.0, 1), (17, 0.002, 2)], ids=["bytes", "pieces with pauses"]
)
def test_a_secret_written_in_pieces_is_masked(
    here: Path, name: str, size: int, pause: float, stream: int
) -> None:
    (here / "secret.txt").write_text(f"begin\nuse {SECRETS[name]}\nend\n", encoding="utf-8")
    (here / "child.py").write_text(CHILD, encoding="utf-8")
    done = start("run", "--quiet", "--", sys.executable, "child.py", str(size), str(pause), str(stream))
    assert done.returncode == 0
    assert not leaking(here / "outputs", SECRETS[name])
    (log,) = here.glob("outputs/2*/output.log")
    assert log.read_text("utf-8").count("[masked:") == 1


def test_a_secret_without_a_line_end_is_masked_when_the_output_stops(here: Path) -> None:
    """The process falls silent in the middle of a secret, goes on, and ends without a line end."""
    (here / "secret.txt").write_text(f"token {SECRETS['vendor']}", encoding="utf-8")
    (here / "child.py").write_text(CHILD, encoding="utf-8")
    assert start("run", "--quiet", "--", sys.executable, "child.py", "80", "0.6", "1").returncode == 0
    assert not leaking(here / "outputs", SECRETS["vendor"])


def test_a_secret_after_a_line_that_does_not_end_is_masked(here: Path) -> None:
    (here / "secret.txt").write_bytes(
        b"x" * 70_000 + b" " + SECRETS["vendor"].encode() + b" " + b"y" * 70_000
    )
    (here / "child.py").write_text(CHILD, encoding="utf-8")
    assert start("run", "--quiet", "--", sys.executable, "child.py", "997", "0", "1").returncode == 0
    assert not leaking(here / "outputs", SECRETS["vendor"])


def test_a_secret_typed_byte_by_byte_on_a_terminal_is_masked(here: Path) -> None:
    (here / "secret.txt").write_text(
        f"{SECRETS['vendor']}\r\nprogress 1\rpassword={PASSWORD}\r\n", encoding="utf-8"
    )
    (here / "child.py").write_text(CHILD, encoding="utf-8")
    process, terminal = pty.fork()
    if process == 0:
        os.execv(RUNCARD[0], [*RUNCARD, "run", "--quiet", "--", sys.executable, "child.py", "1", "0", "1"])  # noqa: S606
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:  # the terminal is gone with its process
        pass
    os.waitpid(process, 0)
    os.close(terminal)
    assert list(here.glob("outputs/2*/output.log"))
    assert not leaking(here / "outputs", SECRETS["vendor"], PASSWORD)


def test_secrets_on_the_command_line_reach_no_file(here: Path) -> None:
    done = start(
        *("run", "--quiet", "--label", f"who={SECRETS['linear']}", "--set", f"db.password={PASSWORD}"),
        *("--set", json.dumps({"url": f"https://x/?key={SECRETS['grafana']}"}).join(["nested=", ""])),
        *("--experiment", "plain", "--"),
        *(
            "sh",
            "-c",
            "exit 3",
            "--token",
            SECRETS["vendor"],
            f"API_KEY={PASSWORD}",
            f"postgres://u:{PASSWORD}@h/d",
        ),
    )
    assert done.returncode == 3
    assert not leaking(here / "outputs", *SECRETS.values(), PASSWORD)


def test_secrets_in_the_environment_reach_no_file(here: Path) -> None:
    environ = {"SERVICE_TOKEN": SECRETS["vendor"], "SMTP_PW": PASSWORD, "KEY": SECRETS["linear"]}
    done = start("run", "--quiet", "--", "sh", "-c", "env; env >&2", environ=environ)
    assert done.returncode == 0
    assert not leaking(here / "outputs", SECRETS["vendor"], SECRETS["linear"], PASSWORD)


def test_secrets_in_a_command_that_cannot_be_run_reach_no_file(here: Path) -> None:
    done = start("run", "--quiet", "--", f"./{SECRETS['vendor']}", f"--password={PASSWORD}")
    assert done.returncode in {126, 127}
    assert not leaking(here / "outputs", SECRETS["vendor"], PASSWORD)


def test_secrets_told_to_the_library_reach_no_file(here: Path) -> None:
    everything = " ".join(SECRETS.values())
    recording = runcard.record(
        outputs=here / "outputs",
        config={
            "password": PASSWORD,
            "nested": [{"name": "API_TOKEN", "value": SECRETS["vendor"]}],
            everything: 1,
        },
        labels={"note": everything},
    )

    def fail() -> None:
        with recording as run:
            run.log(f"seen {SECRETS['linear']}", text=everything, pw=PASSWORD)
            run.add_warning(f"the password is {PASSWORD}", type=SECRETS["grafana"])
            run.add_error(RuntimeError(f"401 for {SECRETS['discord']}"))
            raise ValueError(f"refused {everything} password={PASSWORD}")

    with pytest.raises(ValueError, match="refused"):
        fail()
    assert not leaking(here / "outputs", *SECRETS.values(), PASSWORD)
