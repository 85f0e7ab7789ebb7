"""The events of a run's journal: their names, and what their payloads must have.

A recorder writes these events, and `fold` makes the final document of them. Events with any other name are the user's own.
To add an event: name it here, give its payload a row in `PAYLOADS`, fold it in `fold.py`, and list what it decides in
`journal_check.py`.
"""

RUN_STARTED = "run.started"  # payload: the start document
RUN_ENDED = "run.ended"  # status, timestamp_end, duration_seconds, exit_code, resources
RUN_HEARTBEAT = (
    "run.heartbeat"  # the last sign of life of a run that was killed; its time is that of the line
)
CONFIG_SET = "config.set"  # configuration: merged over the previous one
INPUTS_ADDED = "inputs.added"  # files
INPUTS_COUNTED = "inputs.counted"  # files: path, sha256, tokens, token_source, tokenizer
ENVIRONMENT_OBSERVED = "environment.observed"  # environment
METERING_STARTED = "metering.started"  # the first model call has reached the meter: it may be in progress
MODEL_CALLED = "model.called"  # one model call: tokens, cost, step, …
CALL_UNATTRIBUTED = (
    "model.called.unattributed"  # the same, of a call that may belong to another run: no part of the totals
)
USAGE_INCOMPLETE = "usage.incomplete"  # reason, hint, calls: what calls used is not known completely
METRIC_LOGGED = "metric"  # name, value, step: one value of a metric
WITNESS_COMPARED = "witness.compared"  # source; which calls only the meter saw, or only the program reported; or connections by host
COSTS_SET = "costs.set"  # totals stated by the caller
LABELS_SET = "labels.set"  # labels
RELATION_ADDED = "relation.added"  # type, id, sha256
ERROR_ADDED = "error.added"  # type, message
WARNING_ADDED = "warning.added"  # type, message
SECRETS_MASKED = "secrets.masked"  # rule, where, count

# The fields, with their types, without which a line is ignored: it is damaged, or only has the name of an event.
PAYLOADS: dict[str, dict[str, type | tuple[type, ...]]] = {
    RUN_STARTED: {},
    RUN_ENDED: {"status": str, "timestamp_end": str, "duration_seconds": (int, float)},
    RUN_HEARTBEAT: {},
    CONFIG_SET: {"configuration": dict},
    INPUTS_ADDED: {"files": list},
    INPUTS_COUNTED: {"files": list},
    ENVIRONMENT_OBSERVED: {"environment": dict},
    METERING_STARTED: {},
    MODEL_CALLED: {"tokens": dict},
    CALL_UNATTRIBUTED: {"tokens": dict},
    USAGE_INCOMPLETE: {"reason": str},
    METRIC_LOGGED: {"name": str, "value": (int, float, type(None))},
    WITNESS_COMPARED: {"source": str},
    COSTS_SET: {},
    LABELS_SET: {"labels": dict},
    RELATION_ADDED: {"type": str, "id": str},
    ERROR_ADDED: {"message": str},
    WARNING_ADDED: {"message": str},
    SECRETS_MASKED: {"rule": str, "where": str, "count": int},
}
EVENTS = tuple(PAYLOADS)
