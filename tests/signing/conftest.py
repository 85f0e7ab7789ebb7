"""Keys of OpenSSH, made once for all tests."""

import subprocess
from pathlib import Path

import pytest

TYPES = {
    "ed25519": ["-t", "ed25519"],
    "rsa": ["-t", "rsa", "-b", "2048"],
    "nistp256": ["-t", "ecdsa", "-b", "256"],
    "nistp384": ["-t", "ecdsa", "-b", "384"],
    "nistp521": ["-t", "ecdsa", "-b", "521"],
}


@pytest.fixture(scope="session")
def ssh_keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a key of each type, and one with a passphrase."""
    folder = tmp_path_factory.mktemp("ssh")
    for name, options in TYPES.items():
        subprocess.run(
            ["ssh-keygen", "-q", *options, "-N", "", "-C", f"{name}@test", "-f", folder / name], check=True
        )
    protected = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "open sesame", "-f", str(folder / "protected")]
    subprocess.run(protected, check=True)
    return folder
