"""The digest of a run's configuration."""

from runcard.digests import sha256_bytes
from runcard.encoding import JsonObject, canonical_json


def config_digest(configuration: JsonObject) -> str:
    """The digest of the configuration's canonical JSON."""
    return str(sha256_bytes(canonical_json(configuration)))
