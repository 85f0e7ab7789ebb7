"""Recording without a directory, for those who own theirs: one document, made in memory and saved where they say."""

import os
from collections.abc import Mapping
from typing import Any

from runcard.accounting import Prices
from runcard.documents import fold
from runcard.documents.generation import Generation
from runcard.errors import UsageError
from runcard.files import failure, write_atomic
from runcard.observe.clock import Clock
from runcard.observe.environment import Background
from runcard.observe.ids import new_id
from runcard.observe.process import resources
from runcard.operations.events import Events
from runcard.operations.start import start_document
from runcard.store import experiments

Fields = dict[str, Any]

_PATIENCE = 2.0


class MetadataRecorder(Events):
    """Collects the metadata of a run: `start`, tell it what happens, `finish`, `save`."""

    def __init__(
        self, *, prices: Prices | None = None, keep_secrets: bool = False, strict: bool = False
    ) -> None:
        super().__init__(strict=strict, prices=prices, keep_secrets=keep_secrets)
        self._lines: list[Fields] = []
        self._start: Fields | None = None
        self._checksums: Fields = {}

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
        settings: Fields = {
            "model": model,
            "provider": provider,
            "config": dict(config or {}),
            "experiment": experiment,
            "labels": {str(key): str(value) for key, value in (labels or {}).items()},
            "parent": parent,
        }
        self._clock = Clock()
        self._background = Background(os.getcwd())
        identity = experiments.id_of_name(experiment) if experiment else new_id("exp")
        self._start, counts = start_document(
            self._clock, new_id("run"), identity, settings, parent, keep_secrets=self._keep_secrets
        )
        self._configuration = dict(self._start["configuration"])
        for where, masked in counts.items():
            self.count_masked(masked, where)

    def emit(self, event: str, payload: Fields, *, level: str = "info") -> None:
        if self._start is None:
            raise UsageError("the recorder was not started", hint="call start() first")
        self._lines.append(
            {"timestamp": self._clock.timestamp(), "level": level, "event": event, "payload": payload}
        )

    def add_data_source(self, *patterns: str) -> None:
        """Record files as inputs: by path, by pattern, or all files of a directory."""
        self.add_input(*patterns)

    def add_checksum(self, name: str, digest: str) -> None:
        """State a digest of the caller's own, `sha256:` and 64 hex digits: `output`, or another name."""
        self._checksums[name] = digest

    def finish(self, status: str = "completed") -> None:
        """End: the clock stops here."""
        self.emit(fold.ENVIRONMENT, {"environment": self._background.result(_PATIENCE)})
        now = self._clock.read()
        said = {
            "status": status,
            "timestamp_end": now.timestamp,
            "duration_seconds": now.elapsed,
            "resources": resources(),
        }
        self.emit(fold.ENDED, said)

    def document(self) -> Generation:
        """The document as it stands; before `finish` the run is `running`."""
        if self._start is None:
            raise UsageError("the recorder was not started", hint="call start() first")
        folded = fold.fold(self._start, self._lines, fold.Files(None, [], (), None))
        if not any(line["event"] == fold.ENDED for line in self._lines):
            folded["generation"] |= {"status": "running", "timestamp_end": None, "duration_seconds": None}
            folded["generation"]["estimated"] = []
        folded["checksums"] |= self._checksums
        return Generation.from_dict(folded)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the document to a file, in one step, and nothing else."""
        data = self.document().to_bytes()
        try:
            write_atomic(path, data)
        except OSError as error:
            raise failure(error, os.fspath(path), "write") from error
