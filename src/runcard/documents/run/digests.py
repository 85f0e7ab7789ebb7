"""How values of a generation document are made that others must be able to make again."""

from runcard.digests import sha256_bytes
from runcard.encoding import JsonObject, canonical_json

# Where counts of tokens come from, from the surest to the weakest; a sum is as sure as the weakest of its parts.
TOKEN_SOURCES = ("reported", "partial", "estimated", "given", None)


def config_digest(configuration: JsonObject) -> str:
    """The digest of a configuration: of its canonical JSON."""
    return str(sha256_bytes(canonical_json(configuration)))
