"""The events of a session while it is recorded: their names, and what their payloads must have.

`runcard.Session` writes them, and `live_fold` makes the session of them. Events with any other name are the user's own. An
event of one agent has its id in the field `instance_id` of the line.
"""

from runcard.documents.run.events import (
    ERROR_ADDED,
    MODEL_CALLED,
    RUN_ENDED,
    SECRETS_MASKED,
    USAGE_INCOMPLETE,
    WARNING_ADDED,
)

SESSION_STARTED = "session.started"  # payload: the start document
SESSION_ENDED = "session.ended"  # status; error
SESSION_HEARTBEAT = (
    "session.heartbeat"  # the last sign of life of a process that was killed; its time is that of the line
)
INSTANCE_STARTED = (
    "instance.started"  # name; role, model, provider, parent_instance_id, workspace, output, labels
)
INSTANCE_FINISHED = "instance.finished"  # status; error
RUN_RECORDED = "run.recorded"  # run_id: a run that was recorded inside

# The fields, with their types, without which a line is ignored: it is damaged, or only has the name of an event.
PAYLOADS: dict[str, dict[str, type | tuple[type, ...]]] = {
    SESSION_STARTED: {},
    SESSION_ENDED: {"status": str},
    SESSION_HEARTBEAT: {},
    INSTANCE_STARTED: {"name": str},
    INSTANCE_FINISHED: {"status": str},
    RUN_RECORDED: {"run_id": str},
    RUN_ENDED: {"run_id": str, "resources": dict},  # and: process, parent
    MODEL_CALLED: {"tokens": dict},
    USAGE_INCOMPLETE: {"reason": str},
    ERROR_ADDED: {"message": str},
    WARNING_ADDED: {"message": str},
    SECRETS_MASKED: {"rule": str, "where": str, "count": int},
}
EVENTS = tuple(PAYLOADS)

# How a session ended: what becomes of the agents that were not finished.
STATUS_OF_OPEN = {
    "completed": "completed",
    "failed": "error",
    "interrupted": "terminated",
    "collected": "running",
}
INSTANCE_STATUSES = ("completed", "error", "timeout", "terminated")
