"""Which events of a stream are only text: they need not be decoded, once the first token was seen and text is not kept.

A long stream is nearly all text, and its usage stands in a few events. A test looks for the names that these have, in the
bytes of one event or of many at once. A quote inside a JSON text is escaped, so a quoted name is never found in the text of a
reply. If the test of many events says that all are plain, it says so of each of them, and the other way around: what is
read does not depend on the pieces in which a stream arrives. Of plain events in a row the last one is decoded.

A test is chosen by the first events. A stream of another kind has none: all its events are decoded.
"""

from collections.abc import Callable, Mapping
from typing import Any

IsPlain = Callable[[bytes], bool]


def find_delta_test(event: Mapping[str, Any]) -> IsPlain | None:
    """The test for a stream that has this event."""
    kind = event.get("type")
    if isinstance(kind, str):
        if kind.startswith(("message_", "content_block_")):
            return _is_anthropic_delta
        return is_response_delta if kind.startswith("response.") else None
    if "choices" in event:
        return _is_chat_delta
    return _is_gemini_delta if "candidates" in event else None


def _is_anthropic_delta(events: bytes) -> bool:
    """No start and no end of a message, no start of a block (it may be a tool that the vendor runs), no error."""
    return not (b'"content_block_start"' in events or b'"message_' in events or b'"error"' in events)


def is_response_delta(events: bytes) -> bool:
    """No response, no finished item of it, no error."""
    return not (b'"response.output_item.done"' in events or b'"response"' in events or b'"error"' in events)


def _is_chat_delta(events: bytes) -> bool:
    """No finish reason, no counts, no error: fields that are null in other events."""
    return (
        _is_null(events, b'"finish_reason"')
        and _is_null(events, b'"usage"')
        and not (b'"error"' in events or b"data: [DONE]" in events)
    )


def _is_gemini_delta(events: bytes) -> bool:
    """No finish reason, no searches, no refusal, no error. Each event has the counts so far: the last one is decoded."""
    return not (
        b'"finishReason"' in events
        or b'"groundingMetadata"' in events
        or b'"promptFeedback"' in events
        or b'"error"' in events
    )


def _is_null(events: bytes, name: bytes) -> bool:
    """Whether a field is null wherever it occurs."""
    count = events.count(name)
    if not count:
        return True
    nulls = events.count(name + b":null")
    return nulls == count or nulls + events.count(name + b": null") == count
