"""Private keys: making them, and signing with them. A key is never part of a message.

A key of `runcard keygen` signs plainly (Ed25519), any key of OpenSSH as `ssh-keygen -Y sign` does: in this process where that
is possible, and by `ssh-keygen` for keys with a passphrase, keys on hardware, and keys that an agent holds.
"""

import base64
import os
import shutil
import stat
import subprocess
import tempfile
from typing import TYPE_CHECKING, Protocol

from runcard.errors import MachineError, StoreError, UsageError
from runcard.files import failure, printable, shell_word
from runcard.signing.public_keys import (
    CURVES,
    ECDSA,
    ED25519,
    PublicKey,
    hash_algorithm,
    load_cryptography,
    parse_key_text,
    parse_public_key,
)
from runcard.signing.ssh_signature import (
    NAMESPACE,
    covered_bytes,
    encode_ssh_signature,
    parse_ssh_signature,
    unarmored,
)
from runcard.signing.wire_format import WireFormatError, string

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

_LARGEST_KEY_FILE = 1 << 16  # bytes
_HASH = "sha512"  # of SSH signatures, as ssh-keygen takes by default
_TIMEOUT = 120  # seconds for a passphrase or a touch
_AGENT_TIMEOUT = 10  # seconds to list its keys
_NOT_REACHED = 2  # exit code of ssh-add


class Signer(Protocol):
    """Something that signs."""

    @property
    def public_key(self) -> PublicKey: ...

    def sign(self, data: bytes) -> bytes:
        """The signature of `data`, as an envelope holds it."""


class PlainSigner:
    """An Ed25519 key in memory; its signatures are checked by `openssl`."""

    def __init__(self, key: "PrivateKeyTypes") -> None:
        self._key = key
        self.public_key = _public_key(key)

    def sign(self, data: bytes) -> bytes:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

        if not isinstance(self._key, Ed25519PrivateKey):
            raise TypeError("not an Ed25519 key")
        return self._key.sign(data)


class SshSigner:
    """A key of OpenSSH in memory; its signatures are checked by `ssh-keygen`."""

    def __init__(self, key: "PrivateKeyTypes") -> None:
        self._key = key
        self.public_key = _public_key(key)

    def sign(self, data: bytes) -> bytes:
        algorithm, signature = self._inner(covered_bytes(data, NAMESPACE, _HASH))
        inner = string(algorithm.encode()) + string(signature)
        return encode_ssh_signature(self.public_key, NAMESPACE, _HASH, inner)

    def _inner(self, data: bytes) -> tuple[str, bytes]:
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils  # noqa: PLC0415

        key = self._key
        if isinstance(key, ed25519.Ed25519PrivateKey):
            return ED25519, key.sign(data)
        if isinstance(key, rsa.RSAPrivateKey):
            return "rsa-sha2-512", key.sign(data, padding.PKCS1v15(), hash_algorithm(_HASH))
        if isinstance(key, ec.EllipticCurvePrivateKey):
            name = CURVES[ECDSA[self.public_key.type]]
            numbers = utils.decode_dss_signature(key.sign(data, ec.ECDSA(hash_algorithm(name))))
            return self.public_key.type, b"".join(string(_mpint(number)) for number in numbers)
        raise TypeError("not a key that signs")


class SshKeygenSigner:
    """A key that `ssh-keygen` signs with: one with a passphrase, on hardware, or in an agent."""

    def __init__(self, path: str | None, public_key: PublicKey, *, is_in_agent: bool) -> None:
        self._path = path
        self._is_in_agent = is_in_agent
        self.public_key = public_key

    def sign(self, data: bytes) -> bytes:
        if self._path is not None:
            return self._sign(self._path, data)
        with tempfile.TemporaryDirectory(prefix="runcard-") as folder:  # ssh-keygen finds keys only by a file
            path = os.path.join(folder, "key.pub")
            _write_new(path, f"{self.public_key}\n".encode(), 0o600)
            return self._sign(path, data)

    def _sign(self, path: str, data: bytes) -> bytes:
        program = shutil.which("ssh-keygen")
        if program is None:
            raise MachineError("ssh-keygen was not found", hint="install OpenSSH 8.9 or newer")
        command = [program, "-Y", "sign", "-n", NAMESPACE, "-f", path]
        command += ["-U"] if self._is_in_agent else []
        try:
            # Without an input of its own it asks for the passphrase on the terminal.
            done = subprocess.run(command, input=data, capture_output=True, timeout=_TIMEOUT, check=False)  # noqa: S603
        except subprocess.TimeoutExpired:
            raise StoreError(
                f"ssh-keygen did not sign within {_TIMEOUT} seconds",
                hint="add the key to an agent (ssh-add) and pass --ssh-agent",
            ) from None
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            reason = printable(lines[-1]) if lines else f"exit code {done.returncode}"
            raise StoreError(
                f"ssh-keygen could not sign: {reason}",
                hint="add the key to the agent (ssh-add), or pass the private key itself: --ssh FILE"
                if self._is_in_agent
                else "check the key and its passphrase",
            )
        signature = unarmored(done.stdout.decode("ascii", "replace"))
        self.public_key = parse_ssh_signature(signature).key
        return signature


def generate_key(path: str, comment: str) -> PublicKey:
    """Make an Ed25519 key: the private one at `path`, the public one beside it; an existing file is never replaced."""
    load_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    key = Ed25519PrivateKey.generate()
    public = _public_key(key)
    for existing in (path, f"{path}.pub"):
        if os.path.lexists(existing):
            raise StoreError(f"{printable(existing)} exists already", hint="choose another name")
    _write_new(path, key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()), 0o600)
    _write_new(f"{path}.pub", f"{public} {comment}\n".encode(), 0o644)
    return public


def load_signer(path: str) -> Signer:
    """A key of either kind, by its file: plain if that is possible."""
    if path.endswith(".pub"):
        return agent_signer(path)
    key = _load(path)
    if key is None:
        return SshKeygenSigner(path, _key_beside(path), is_in_agent=False)
    return PlainSigner(key) if _public_key(key).type == ED25519 else SshSigner(key)


def load_plain_signer(path: str) -> PlainSigner:
    """The key of `runcard keygen`, or another Ed25519 key without a passphrase."""
    key = _load(path)
    if key is None:
        raise UsageError(
            f"the key {printable(path)} has a passphrase, or is on hardware",
            hint="pass it with --ssh instead of --key: ssh-keygen asks for the passphrase",
        )
    signer = PlainSigner(key)
    if signer.public_key.type != ED25519:
        raise UsageError(
            f"the key {printable(path)} is of type {signer.public_key.type}",
            hint="pass it with --ssh instead of --key",
        )
    return signer


def load_ssh_signer(path: str) -> Signer:
    """A key of OpenSSH, by the path of its private or its public file."""
    if path.endswith(".pub"):
        return agent_signer(path)
    key = _load(path)
    return SshSigner(key) if key is not None else SshKeygenSigner(path, _key_beside(path), is_in_agent=False)


def agent_signer(path: str | None) -> SshKeygenSigner:
    """A key that an agent holds: the one with that public file, or the only one there."""
    public = _only_key_in_agent() if path is None else _read_public(path)
    return SshKeygenSigner(path, public, is_in_agent=True)


def _only_key_in_agent() -> PublicKey:
    program = shutil.which("ssh-add")
    if program is None or not os.environ.get("SSH_AUTH_SOCK"):
        raise UsageError(
            "no SSH agent is running here (SSH_AUTH_SOCK is not set)",
            hint="start one: eval $(ssh-agent) && ssh-add; or pass the key itself: --ssh FILE",
        )
    try:
        listed = subprocess.run([program, "-L"], capture_output=True, check=False, timeout=_AGENT_TIMEOUT)  # noqa: S603
    except subprocess.TimeoutExpired:
        listed = None
    if listed is None or listed.returncode == _NOT_REACHED:
        raise UsageError("the SSH agent does not answer", hint="pass the key itself: --ssh FILE")
    lines = listed.stdout.decode("utf-8", "replace").splitlines()
    if listed.returncode or not lines:
        raise UsageError(
            "the SSH agent holds no key", hint="add one: ssh-add FILE; or pass the key itself: --ssh FILE"
        )
    if len(lines) > 1:
        raise UsageError(
            f"the SSH agent holds {len(lines)} keys",
            hint="name the public key of one: --ssh FILE.pub; `ssh-add -L` lists them",
        )
    return _parse_public(lines[0], "the key in the agent")


def _key_beside(path: str) -> PublicKey:
    return _read_public(f"{path}.pub")


def _read_public(path: str) -> PublicKey:
    return _parse_public(_read(path).decode("utf-8", "replace"), printable(path))


def _parse_public(text: str, origin: str) -> PublicKey:
    words = text.split()
    try:
        return parse_key_text(*[*words, "", ""][:2])
    except WireFormatError as error:
        raise UsageError(
            f"{origin} is not a public key: {error.message}",
            hint="name a file such as id_ed25519.pub",
        ) from None


def _load(path: str) -> "PrivateKeyTypes | None":
    """A private key; None for one that only `ssh-keygen` can use."""
    load_cryptography()
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415

    data = _read(path, is_private=True)
    is_ssh = b"BEGIN OPENSSH PRIVATE KEY" in data
    load = serialization.load_ssh_private_key if is_ssh else serialization.load_pem_private_key
    try:
        return load(data, None)
    except (TypeError, UnsupportedAlgorithm):  # it has a passphrase, or is on hardware
        return None
    except ValueError as error:
        if is_ssh and "password" in str(error).lower():
            return None
        raise UsageError(
            f"{printable(path)} is not a private key", hint="make one: runcard keygen --output runcard.pem"
        ) from None


def _read(path: str, *, is_private: bool = False) -> bytes:
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if is_private and stat.S_ISREG(mode) and mode & 0o077:
                raise UsageError(
                    f"others may read the key {printable(path)}", hint=f"run `chmod 600 {printable(path)}`"
                )
            return file.read(_LARGEST_KEY_FILE)
    except FileNotFoundError:
        raise StoreError(
            f"the key {printable(path)} does not exist",
            hint=f"check the path, or make a key: runcard keygen --output {shell_word(path)}",
        ) from None
    except OSError as error:
        raise failure(error, path, "read") from error


def _write_new(path: str, data: bytes, mode: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        with open(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise failure(error, path, "create") from error


def _public_key(key: "PrivateKeyTypes") -> PublicKey:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: PLC0415

    text = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return parse_public_key(base64.b64decode(text.split()[1]))


def _mpint(number: int) -> bytes:
    return number.to_bytes(number.bit_length() // 8 + 1, "big")
