"""The steps of a thread on their way to its activity: those of a reply wait until its usage was stated.

A reply is what comes between two inputs, such as a user message and a tool result. It is a call of a model when Codex states a
usage for it. A reply without one was interrupted, or Codex wrote it: its steps name no call, so that it is not measured. Nor is a
reply to what Codex wrote: a call that compacted the conversation may have come between.
"""

from runcard.transcripts.activity import Entry, SessionActivity
from runcard.transcripts.content import object_of

_MOST_WAITING = 1000
_MOST_TEXT = 32 << 20  # characters of steps that wait


class StepQueue:
    """Gives the steps to the activity in their order."""

    def __init__(self, activity: SessionActivity, thread: str) -> None:
        self._activity, self._thread = activity, thread
        self._waiting: list[Entry] = []
        self._text = 0
        self._replies = 0
        self._call: str | None = None  # of the reply to the last input
        self._totals: object = None
        self._has_records = self._is_asked = False

    def add(self, entry: Entry, *, is_input: bool = False) -> None:
        """Add a step; an input is what a model replies to."""
        if is_input:
            self.start_reply()
            self._is_asked = entry.kind != "note"
        is_reply = entry.kind in {"assistant", "thinking", "tool use"}
        if is_reply and self._call is not None:
            entry = entry._replace(call=self._call)
        elif is_reply or self._waiting:
            self._wait(entry)
            return
        self._activity.add(entry)

    def _wait(self, entry: Entry) -> None:
        self._waiting.append(entry)
        self._text += len(entry.text)
        if len(self._waiting) > _MOST_WAITING or self._text > _MOST_TEXT:
            self.flush()

    def start_reply(self) -> None:
        """What follows is another reply; where no input comes before it, to something that is no step."""
        self.flush()
        self._call, self._is_asked = None, False

    def record_usage(self, response_id: str | None) -> None:
        """Note a usage record: it names its reply."""
        self._has_records = True
        self._end_reply(response_id)

    def count_event(self, info: object) -> None:
        """Note a `token_count` event, which states the usage of a reply if its total is new and no record does."""
        totals = object_of(info).get("total_token_usage")
        if totals is not None and totals != self._totals:
            self._totals = totals
            if not self._has_records:
                self._end_reply(None)

    def _end_reply(self, response_id: str | None) -> None:
        if self._call is None and self._is_asked:
            self._replies += 1
            self._call = response_id or f"{self._thread}:{self._replies}"
        self.flush()

    def flush(self) -> None:
        """Give on what waits."""
        for entry in self._waiting:
            is_reply = entry.kind in {"assistant", "thinking", "tool use"}
            self._activity.add(entry._replace(call=self._call) if is_reply else entry)
        self._waiting.clear()
        self._text = 0
