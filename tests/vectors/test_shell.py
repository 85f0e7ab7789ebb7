"""Signatures of runs, checked by `openssl` and `ssh-keygen` alone."""

import subprocess
from pathlib import Path

import pytest
import run_vectors
from run_vectors import Fields

from conftest import Cli

FOLDER = Path(run_vectors.__file__).parent
SCRIPT = FOLDER.parent / "examples" / "verify-run" / "check_signature.sh"

pytestmark = pytest.mark.needs("openssh-client")

ALICE = "alice@example.org, author (SHA256:FRNKeiwFXBaIyod+2bh231ZHp2W6qk3bINqut5plHlI)"
BOB = "bob@example.org, reviewer (SHA256:1b0SdsMG3WsN9DjBl5l2HeiE3gtYTk0EkJXI9RdqWy4)"
GOOD = "good: unchanged since it was signed"

# Good ones that the script refuses, because it cannot read them exactly.
REFUSED = {
    "signed-amended-by-stranger",
    "signed-amended-signed",
    "signed-no-key-id",
    "signed-then-approved",
    "signed-then-noted",
    "signed-twice-in-one-envelope",
    "signed-unknown-field",
    "signed-url-alphabet",
    "timestamp-then-amended",
    "timestamp-signed-later",
    "untrusted-two-lines",
}


def check(record: Path, *signers: Path) -> tuple[int, str]:
    done = subprocess.run(
        ["sh", str(SCRIPT), str(record), *map(str, signers)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout + done.stderr


def is_good(vector: Fields) -> bool:
    signed = vector.get("signed_without_signers", vector["signed"])
    return bool(vector["intact"] and vector["complete"] and signed)


@pytest.mark.long
def test_the_script_accepts_what_runcard_accepts_and_nothing_else(tmp_path: Path) -> None:
    runs = [v for v in run_vectors.vectors("run") if v["signed"] is not None]
    accepted = {v["name"] for v in runs if check(run_vectors.copy_of(v, tmp_path))[0] == 0}
    good = {v["name"] for v in runs if is_good(v)}
    assert (accepted - good, len(runs) > 90) == (set(), True)
    assert good - accepted <= REFUSED


@pytest.mark.long
def test_with_signers_the_script_accepts_nothing_that_runcard_refuses(cli: Cli, tmp_path: Path) -> None:
    runs = [v for v in run_vectors.vectors("run") if v["signed"] is not None]
    for vector in runs:
        record = run_vectors.copy_of(vector, tmp_path)
        if check(record, FOLDER / "signers")[0] == 0:
            assert cli("verify", "--signers", FOLDER / "signers", record).code == 0, vector["name"]


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("signed", 1),
        ("signed-by-two", 2),
        ("signed-ssh-rsa", 1),
        ("signed-ssh-ed25519", 1),
        ("signed-ssh-ecdsa-384", 1),
        ("signed-ssh-hardware-ecdsa", 1),
        ("signed-ssh-sha256", 1),
    ],
)
def test_a_good_signature(name: str, keys: int) -> None:
    (record,) = (FOLDER / "records" / name).iterdir()
    code, text = check(record)
    *signed, last = text.splitlines()
    assert (code, len(signed), last) == (0, keys, GOOD)
    assert all(line.startswith("signed by an unknown key (SHA256:") for line in signed)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("signed-ssh-rsa", 0),
        ("untrusted-expired", 1),
        ("untrusted-stranger", 1),
        ("untrusted-other-namespace", 1),
        ("untrusted-two-lines", 1),
        ("signed-ssh-ecdsa-384", 1),
        ("good", 1),
        ("amended-note", 1),
        ("amended-withheld-file", 1),
    ],
)
def test_with_a_file_of_signers(name: str, code: int) -> None:
    (record,) = (FOLDER / "records" / name).iterdir()
    found, text = check(record, FOLDER / "signers")
    assert found == code, text
    assert text.splitlines()[-1].startswith(GOOD if code == 0 else "Error:")


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("signed", [f"signed by {ALICE}", GOOD]),
        ("signed-by-two", [f"signed by {ALICE}", f"signed by {BOB}", GOOD]),
        (
            "trusted-beside-a-stranger",
            [
                f"signed by {ALICE}",
                "signed by an unknown key (SHA256:4BtPuISq45pAfJaGXostWh1eO54c9Pz/+k/ApzjFvqo)",
                GOOD,
            ],
        ),
        ("timestamp-of-signature", [f"signed by {ALICE}", "the time-stamps were not checked", GOOD]),
    ],
)
def test_the_script_names_the_signers_as_runcard_does(cli: Cli, name: str, lines: list[str]) -> None:
    (record,) = (FOLDER / "records" / name).iterdir()
    assert check(record, FOLDER / "signers") == (0, "\n".join(lines) + "\n")
    outcome = cli("verify", "--signers", FOLDER / "signers", record)
    assert outcome.code == 0
    named = {line.strip().partition(", not trusted")[0] for line in outcome.out.splitlines()}
    assert {line for line in lines if line.startswith("signed by")} <= named
