"""Make a key to sign records with: `runcard keygen`."""

import os
from dataclasses import dataclass

from runcard.encoding import JsonObject
from runcard.errors import UsageError
from runcard.files import printable
from runcard.observe.user_and_host import user_and_host
from runcard.signing.private_keys import generate_key
from runcard.signing.public_keys import PublicKey


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was made."""

    path: str  # of the private key
    public_key: PublicKey
    name: str  # of whose it is

    @property
    def public_path(self) -> str:
        return f"{self.path}.pub"

    @property
    def signers_line(self) -> str:
        """The line for a file of trusted signers."""
        name = f'"{self.name}"' if " " in self.name else self.name
        return f'{name} namespaces="runcard" {self.public_key}'

    def to_dict(self) -> JsonObject:
        return {
            "private_key": printable(os.path.abspath(self.path)),
            "public_key": printable(os.path.abspath(self.public_path)),
            "fingerprint": self.public_key.fingerprint,
            "signers_line": self.signers_line,
        }


def keygen(output: str | os.PathLike[str], *, name: str | None = None) -> NewKey:
    """Make an Ed25519 key. The private one is written to `output`, the public one beside it, with `.pub`."""
    owner = name or user_and_host()
    if not owner.isprintable() or set(owner) & set('"*?!#\\'):
        raise UsageError(
            "the name has characters that a file of signers cannot hold",
            hint='do without " * ? ! # \\ and line ends, such as: alice@example.org',
        )
    path = os.fspath(output)
    return NewKey(path, generate_key(path, owner), owner)
