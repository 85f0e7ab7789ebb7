"""SSH signatures (SSHSIG), as `ssh-keygen -Y sign` makes them."""

import base64
import hashlib
from typing import Final, NamedTuple

from runcard.signing.public_keys import (
    PublicKey,
    parse_public_key,
    verify_hardware,
    verify_ssh,
)
from runcard.signing.wire_format import WireFormatError, WireReader, string

NAMESPACE: Final = "runcard"
MAGIC: Final = b"SSHSIG"

_HASHES = ("sha256", "sha512")
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"


class SshSignature(NamedTuple):
    """An SSH signature, with the key that made it."""

    key: PublicKey
    namespace: str
    hash_name: str
    algorithm: str
    signature: bytes
    flags: int = 0  # of a hardware key, as is the next
    counter: int = 0

    def verify(self, data: bytes) -> bool:
        """Whether this is the signature of `data` by its key."""
        covered = covered_bytes(data, self.namespace, self.hash_name)
        if self.key.is_hardware:
            return verify_hardware(self.key, covered, self.flags, self.counter, self.signature)
        return verify_ssh(self.key, covered, self.algorithm, self.signature)


def covered_bytes(data: bytes, namespace: str, hash_name: str) -> bytes:
    """What OpenSSH signs, for data of a namespace."""
    digest = hashlib.new(hash_name, data).digest()
    return MAGIC + string(namespace.encode()) + string(b"") + string(hash_name.encode()) + string(digest)


def encode_ssh_signature(key: PublicKey, namespace: str, hash_name: str, signature: bytes) -> bytes:
    """An SSH signature as bytes; `signature` is the inner one, with the name of its algorithm."""
    version = (1).to_bytes(4, "big")
    parts = (key.blob, namespace.encode(), b"", hash_name.encode(), signature)
    return MAGIC + version + b"".join(map(string, parts))


def parse_ssh_signature(data: bytes) -> SshSignature:
    """Read an SSH signature; raises WireFormatError."""
    reader = WireReader(data)
    if reader.take(len(MAGIC)) != MAGIC:
        raise WireFormatError("it is not an SSH signature")
    if (version := reader.number()) != 1:
        raise WireFormatError(f"version {version} of SSH signatures is not supported")
    key = parse_public_key(reader.string())
    namespace = reader.text()
    reader.string()  # reserved
    hash_name, inner = reader.text(), reader.string()
    reader.finish()
    if hash_name not in _HASHES:
        raise WireFormatError(f"the hash {hash_name[:80]!r} is not supported")
    return _with_inner(SshSignature(key, namespace, hash_name, "", b""), inner)


def _with_inner(outer: SshSignature, inner: bytes) -> SshSignature:
    reader = WireReader(inner)
    algorithm, signature = reader.text(), reader.string()
    flags = counter = 0
    if outer.key.is_hardware:
        flags, counter = reader.take(1)[0], reader.number()
        if algorithm != outer.key.type:
            raise WireFormatError("the algorithm of the signature is not that of its key")
    reader.finish()
    return outer._replace(algorithm=algorithm, signature=signature, flags=flags, counter=counter)


def unarmored(text: str) -> bytes:
    """The bytes of the text form."""
    lines = [line.strip() for line in text.strip().splitlines()]
    if len(lines) < 3 or lines[0] != _BEGIN or lines[-1] != _END:
        raise WireFormatError("it is not the text form of an SSH signature")
    return base64.b64decode("".join(lines[1:-1]))
