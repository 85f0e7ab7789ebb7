"""By what a call is known wherever it was recorded: hashes of the ids that the provider gave it.

A provider that sends no id leaves the model and the prompt, as in the fold of a run. Reports of `add_usage` may have neither.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from runcard.digests import short_digest

# Who reported a call, the more reliable the larger. A transcript that was joined with the wire has the counts of that.
TRANSCRIPT, GIVEN, CLIENT, JOINED, WIRE = range(5)

_OBSERVERS = {"meter": WIRE, "watch": CLIENT}
_OF_OBSERVED = "api"  # a field that only observed calls have; earlier versions did not name the observer


class CallIdentity(NamedTuple):
    """The columns of a call that tell it from others."""

    response: int | None
    request: int | None
    client_session: str | None
    witness: int | None


UNKNOWN = CallIdentity(None, None, None, None)


def identity_of(call: Mapping[str, Any]) -> CallIdentity:
    """The identity of a call in the journal of a run or a session."""
    response, request, session = (
        _id(call.get(name)) for name in ("response_id", "request_id", "client_session")
    )
    part = call.get("part")
    name = f"{response}#{part}" if response and part else response or _prompt(call, request)
    return CallIdentity(
        _number(name) if name else None, _number(request) if request else None, session, witness_of(call)
    )


def witness_of(call: Mapping[str, Any]) -> int:
    observer = call.get("observer")
    if observer == "transcript":
        return TRANSCRIPT
    return _OBSERVERS.get(observer, CLIENT if _OF_OBSERVED in call else GIVEN)  # type: ignore[arg-type]


def _prompt(call: Mapping[str, Any], request: str | None) -> str | None:
    """What an observed call without an id is known by."""
    prompt = _id(call.get("prompt_sha256"))
    if request or not prompt or witness_of(call) < CLIENT:
        return None
    return f"prompt {call.get('api')} {call.get('requested_model')} {prompt}"


def number_of(digest: bytes) -> int:
    """A short digest as databases store it."""
    return int.from_bytes(digest, "little", signed=True)


def _number(text: str) -> int:
    return number_of(short_digest(text))


def _id(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
