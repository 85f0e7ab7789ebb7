"""Signatures of runs, checked by `openssl` and `ssh-keygen` alone."""

import subprocess
from pathlib import Path

import pytest
import run_vectors
from run_vectors import Fields

FOLDER = Path(run_vectors.__file__).parent
SCRIPT = FOLDER.parent / "examples" / "verify-run" / "check_signature.sh"

pytestmark = pytest.mark.needs("openssh-client")

# What the script says that it does not compare, or that `ssh-keygen` accepts.
NOT_SEEN = {
    "statement-subject-no-digest",
    "statement-other-output",
    "statement-more-outputs",
    "statement-other-chains",
    "ssh-rsa-1024",
    "ssh-hardware-not-touched",
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
def test_what_is_not_good_is_never_called_good(tmp_path: Path) -> None:
    wrong = [v for v in run_vectors.vectors("run") if v["signed"] is not None and not is_good(v)]
    accepted = [v["name"] for v in wrong if check(run_vectors.copy_of(v, tmp_path))[0] == 0]
    assert (set(accepted), len(wrong) > 40) == (NOT_SEEN, True)


@pytest.mark.parametrize(
    "name",
    [
        "signed",
        "signed-by-two",
        "signed-ssh-rsa",
        "signed-ssh-ed25519",
        "signed-ssh-ecdsa-384",
        "signed-ssh-sha256",
        "timestamp-of-signature",
    ],
)
def test_a_good_signature(name: str) -> None:
    (record,) = (FOLDER / "records" / name).iterdir()
    assert check(record) == (0, "good: signed, and unchanged since\n")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("signed", 0),
        ("signed-ssh-rsa", 0),
        ("untrusted-expired", 1),
        ("untrusted-stranger", 1),
        ("untrusted-other-namespace", 1),
        ("signed-ssh-ecdsa-384", 1),
        ("good", 1),
        ("amended-note", 1),
    ],
)
def test_with_a_file_of_signers(name: str, code: int) -> None:
    (record,) = (FOLDER / "records" / name).iterdir()
    found, text = check(record, FOLDER / "signers")
    assert found == code, text
    assert text.startswith("good:" if code == 0 else "Error:")
