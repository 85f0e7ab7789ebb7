"""Recording without a directory, for those who own theirs: one document, made in memory and saved where they say.

Nothing of it is on the disk before `save`, so nothing survives the death of the process; `runcard.record` does that.
"""

import os
from collections.abc import Mapping
from typing import Any

from runcard.accounting import Prices
from runcard.digests import Digest
from runcard.documents.run import events, fold
from runcard.documents.run.generation import Generation
from runcard.documents.run.size_limit import TRUNCATED
from runcard.encoding import JsonObject
from runcard.errors import UsageError
from runcard.files import failure, write_atomic
from runcard.observe.clock import Clock
from runcard.observe.environment import EnvironmentGatherer
from runcard.observe.ids import new_id
from runcard.observe.process import resources
from runcard.operations.experiments import identify
from runcard.operations.masking import use_masking_settings
from runcard.operations.runs.recorder_methods import Events, checked_prices
from runcard.operations.runs.start_document import bound_start, settings_of, start_document
from runcard.store.journal import EVENT_LIMIT

_PATIENCE = 2.0  # seconds that finishing waits for git and packages
_STATUSES = ("completed", "failed", "interrupted")


class MetadataRecorder(Events):
    """Collects the metadata of a run: `start`, tell it what happens, `finish`, `save`."""

    def __init__(
        self, *, prices: Prices | None = None, keep_secrets: bool = False, strict: bool = False
    ) -> None:
        super().__init__(strict=strict, prices=checked_prices(prices), keep_secrets=keep_secrets)
        self._lines: list[JsonObject] = []
        self._start: JsonObject | None = None
        self._checksums: JsonObject = {}
        self._finished = False

    def start(
        self,
        *,
        model: str | None = None,
        provider: str | None = None,
        config: Mapping[str, Any] | None = None,
        experiment: str | None = None,
        labels: Mapping[str, str] | None = None,
        parent: str | None = None,
    ) -> None:
        """Begin: the clock runs from here."""
        if self._start is not None:
            raise UsageError("this recorder was started already", hint="make a new one for each run")
        settings = settings_of(
            model=model, provider=provider, config=config, experiment=experiment, labels=labels, parent=parent
        )
        use_masking_settings()
        self._clock = Clock()
        self._directory = os.getcwd()
        self._background = EnvironmentGatherer(self._directory)
        identity = identify(experiment) if experiment else new_id("exp")
        self._start, counts = start_document(
            self._clock,
            new_id("run"),
            identity,
            settings,
            parent or os.environ.get("RUNCARD_PARENT"),
            keep_secrets=self._keep_secrets,
        )
        for message in bound_start(self._start, EVENT_LIMIT):
            self.add_warning(message, type=TRUNCATED)
        self._configuration = dict(self._start["configuration"])
        for where, masked in counts.items():
            self.count_masked(masked, where)

    def emit(self, event: str, payload: JsonObject, *, level: str = "info") -> None:
        self._check_open()
        self._lines.append(
            {"timestamp": self._clock.timestamp(), "level": level, "event": event, "payload": payload}
        )

    def _check_open(self) -> None:
        self._begun()
        if self._finished:
            raise UsageError("the recorder is finished", hint="make a new one for each run")

    def _begun(self) -> JsonObject:
        if self._start is None:
            raise UsageError("the recorder was not started", hint="call start() first")
        return self._start

    def add_data_source(self, *patterns: str | os.PathLike[str]) -> None:
        """Record files as inputs: by path, by pattern, or all files of a directory."""
        self.add_input(*patterns)

    def add_checksum(self, name: str, digest: str) -> None:
        """State a digest of the caller's own, `sha256:` and 64 hex digits: `output`, or another name."""
        self._check_open()
        if name == "config":
            raise UsageError("checksums.config is that of the configuration", hint="runcard computes it")
        try:
            self._checksums[name] = str(Digest.parse(digest))
        except ValueError as error:
            raise UsageError(str(error), hint="a digest is sha256: and 64 lower-case hex digits") from error

    def finish(self, status: str = "completed") -> None:
        """End: the clock stops here."""
        self._check_open()
        if status not in _STATUSES:
            raise UsageError(f"no run ends as {status!r}", hint=f"one of {', '.join(_STATUSES)}")
        self.end_calls()
        self._counting.stop(_PATIENCE)
        self.emit(events.ENVIRONMENT_OBSERVED, {"environment": self._background.result(_PATIENCE)})
        now = self._clock.read()
        said = {
            "status": status,
            "timestamp_end": now.timestamp,
            "duration_seconds": now.elapsed,
            "resources": resources(),
        }
        self.emit(events.RUN_ENDED, said)
        self._finished = True

    def document(self) -> Generation:
        """The document as it stands; before `finish` the run is `running`."""
        start = self._begun()
        folded = fold.fold(start, self._lines, fold.FileFacts(None, [], (), None))
        if not self._finished:
            folded["generation"] |= {"status": "running", "timestamp_end": None, "duration_seconds": None}
            folded["generation"]["estimated"] = []
            folded["environment"] |= self._background.result(0)  # what is known so far
        folded["checksums"] |= self._checksums
        return Generation.from_dict(folded)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the document to a file, in one step, and nothing else."""
        data = self.document().to_bytes()
        try:
            write_atomic(path, data)
        except OSError as error:
            raise failure(error, os.fspath(path), "write") from error
