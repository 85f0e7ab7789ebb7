"""Record without a run directory: one document, made in memory and saved to a file.

Nothing is on disk before `save`, so nothing survives the death of the process; use `runcard.record` for that.
"""

import os
from collections.abc import Mapping

from runcard.accounting import Prices
from runcard.digests import Digest
from runcard.documents.run import fold
from runcard.documents.run.events import ENVIRONMENT_OBSERVED, RUN_ENDED
from runcard.documents.run.generation import Generation
from runcard.documents.run.size_limit import TRUNCATED
from runcard.encoding import JsonObject
from runcard.errors import UsageError
from runcard.files import failure, write_atomic
from runcard.observe.clock import Clock
from runcard.observe.environment import EnvironmentGatherer
from runcard.observe.ids import new_id
from runcard.observe.process import resources
from runcard.recording.argument_checks import check_prices, check_status
from runcard.recording.caller_warnings import caller_file
from runcard.recording.events import EventRecorder
from runcard.recording.recorder import Recorder
from runcard.recording.start_document import (
    application_warning,
    cut_start_document,
    start_document,
    start_settings,
)
from runcard.settings.apply import use_masking_settings
from runcard.store.experiments import experiment_id
from runcard.store.journal import EVENT_LIMIT

_BACKGROUND_TIMEOUT = 2.0  # seconds that `finish` waits for git, packages and token counts


class MetadataRecorder(Recorder):
    """Collects the metadata of a run: `start`, record what happens, `finish`, `save`."""

    def __init__(
        self, *, prices: Prices | None = None, keep_secrets: bool = False, strict: bool = False
    ) -> None:
        self._events: _MemoryEvents = _MemoryEvents(
            strict=strict, prices=check_prices(prices), keep_secrets=keep_secrets
        )
        self._checksums: JsonObject = {}

    def __repr__(self) -> str:
        start = self._events.start_document
        run_id = f"{start['generation']['run_id']} " if start else ""
        return f"<runcard.MetadataRecorder {run_id}{self._events.status}>"

    def start(
        self,
        *,
        model: str | None = None,
        provider: str | None = None,
        config: object = None,
        experiment: str | None = None,
        labels: Mapping[str, object] | None = None,
        parent: str | None = None,
        application: str | None = None,
        application_version: str | None = None,
    ) -> None:
        """Start: the clock runs from here."""
        events = self._events
        if events.start_document is not None:
            raise UsageError("this recorder has already been started", hint="make a new one for each run")
        settings = start_settings(
            model=model,
            provider=provider,
            config=config,
            experiment=experiment,
            labels=labels,
            parent=parent,
            application=application,
            application_version=application_version,
        )
        use_masking_settings()
        events.clock = Clock()
        events.directory = os.getcwd()
        self._background = EnvironmentGatherer(
            events.directory, program=None if application else caller_file()
        )
        identity = experiment_id(experiment, new_id) if experiment else new_id("exp")
        document, masked_counts = start_document(
            events.clock,
            new_id("run"),
            identity,
            settings,
            parent or os.environ.get("RUNCARD_PARENT"),
            keep_secrets=events.keep_secrets,
        )
        events.start_document, events.status = document, "running"
        for message in cut_start_document(document, EVENT_LIMIT):
            events.add_warning(message, TRUNCATED)
        if unknown := application_warning(settings):
            events.add_warning(unknown, "application")
        events.configuration = dict(document["configuration"])
        for where, counts in masked_counts.items():
            events.add_masked(counts, where)

    def add_data_source(self, *patterns: str | os.PathLike[str]) -> None:
        """Record files as inputs: by path, by pattern, or all files of a directory."""
        self.add_input(*patterns)

    def add_checksum(self, name: str, digest: str) -> None:
        """State a digest of your own, `sha256:` and 64 hex digits: `output`, or another name."""
        self._events.check_running()
        if name == "config":
            raise UsageError(
                "checksums.config is the digest of the configuration", hint="choose another name"
            )
        try:
            self._checksums[name] = str(Digest.parse(digest))
        except ValueError as error:
            raise UsageError(str(error), hint="pass sha256: and 64 lower-case hex digits") from error

    def finish(self, status: str = "completed") -> None:
        """End: the clock stops here."""
        events = self._events
        events.check_running()
        check_status(status)
        events.end_calls()
        events.end_token_counts(_BACKGROUND_TIMEOUT)
        events.emit(ENVIRONMENT_OBSERVED, {"environment": self._background.result(_BACKGROUND_TIMEOUT)})
        now = events.clock.read()
        payload = {
            "status": status,
            "timestamp_end": now.timestamp,
            "duration_seconds": now.elapsed,
            "resources": resources(),
        }
        events.emit(RUN_ENDED, payload)
        events.status = status

    def document(self) -> Generation:
        """The document so far; before `finish` the run is `running`."""
        start = self._events.check_started()
        folded = fold.fold(start, self._events.lines, fold.FileFacts(None, [], (), None))
        if self._events.status == "running":
            folded["generation"] |= {"status": "running", "timestamp_end": None, "duration_seconds": None}
            folded["generation"]["estimated"] = []
            folded["environment"] |= self._background.result(0)  # what is known so far
        folded["checksums"] |= self._checksums
        return Generation.from_dict(folded)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the document to a file, atomically, and nothing else."""
        data = self.document().to_bytes()
        try:
            write_atomic(path, data)
        except OSError as error:
            raise failure(error, os.fspath(path), "write") from error


class _MemoryEvents(EventRecorder):
    """Keeps the events of a run in memory."""

    clock: Clock

    def __init__(self, *, strict: bool, prices: Prices | None, keep_secrets: bool) -> None:
        super().__init__(strict=strict, prices=prices, keep_secrets=keep_secrets)
        self.lines: list[JsonObject] = []
        self.start_document: JsonObject | None = None
        self.status = "not started"

    def emit(self, event: str, payload: JsonObject, *, level: str = "info") -> None:
        self.check_running()
        self.lines.append(
            {"timestamp": self.clock.timestamp(), "level": level, "event": event, "payload": payload}
        )

    def check_running(self) -> None:
        self.check_started()
        if self.status != "running":
            raise UsageError("the recorder is finished", hint="make a new one for each run")

    def check_started(self) -> JsonObject:
        if self.start_document is None:
            raise UsageError("the recorder was not started", hint="call start() first")
        return self.start_document
