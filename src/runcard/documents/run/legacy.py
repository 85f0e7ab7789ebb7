"""The two older, flat shapes of a generation document, and how each becomes a 1.0 document.

A field that has no place in 1.0, or whose value does not fit there, is kept as it was under `legacy`. The old tools wrote
their one timestamp when they saved the result, so it becomes `timestamp_end`; a time without a zone is only taken with
the zone that the user names.
"""

from datetime import datetime, tzinfo

from runcard.documents.findings import shown
from runcard.documents.times import format_time, parse_time
from runcard.encoding import JsonObject

Upgraded = tuple[JsonObject, tuple[str, ...], tuple[str, ...]]  # data, dropped (nothing ever is), notes

_TEXTS = ("model", "provider")
_COSTS = ("total_cost_usd", "cost_usd", "total_cost", "cost")


def from_flat(old: JsonObject, zone: tzinfo | None) -> Upgraded:
    """The unversioned shape: `generated_at`, `source_files` and counts."""
    taking = _Taking(old, zone)
    end = taking.time("generated_at")
    configuration = taking.settings(("model", "provider", "persona_count"))
    files = taking.files("source_files")
    return taking.document(end, None, configuration, files)


def from_0_1_0(old: JsonObject, zone: tzinfo | None) -> Upgraded:
    """The shape of `version: "0.1.0"`: `timestamp`, `input_files`, `generation_parameters`."""
    taking = _Taking(old, zone)
    taking.left.pop("version")
    end = taking.time("timestamp")
    configuration = taking.settings(("model", "provider"))
    parameters = old.get("generation_parameters")
    if isinstance(parameters, dict) and _fits(parameters) and not parameters.keys() & configuration.keys():
        configuration |= parameters
        taking.left.pop("generation_parameters")
    files = taking.files("input_files")
    return taking.document(end, taking.text("experiment"), configuration, files)


def _fits(configuration: JsonObject) -> bool:
    return all(isinstance(configuration.get(field), str | None) for field in _TEXTS)


class _Taking:
    """What is left of an older document while its fields are taken over one by one."""

    def __init__(self, old: JsonObject, zone: tzinfo | None) -> None:
        self.left = dict(old)
        self.zone = zone
        self.notes: list[str] = []

    def time(self, field: str) -> str | None:
        """A time in UTC; one without a zone stays behind unless the user named it."""
        text = self.left.get(field)
        if not isinstance(text, str):
            return None
        utc = self._utc(text)
        if utc is None:
            self.notes.append(
                f"{field} {shown(text)} is no time with a zone: timestamp_end is null and the text is kept under legacy"
                " (name the zone with --timezone)"
            )
            return None
        del self.left[field]
        return utc

    def _utc(self, text: str) -> str | None:
        try:
            moment = parse_time(text)
            if moment is None and self.zone is not None:
                moment = datetime.fromisoformat(text).replace(tzinfo=self.zone)
            return format_time(moment) if moment else None
        except (ValueError, OverflowError):
            return None

    def settings(self, fields: tuple[str, ...]) -> JsonObject:
        return {
            field: self.left.pop(field)
            for field in fields
            if field in self.left and (field not in _TEXTS or isinstance(self.left[field], str | None))
        }

    def text(self, field: str) -> str | None:
        return self.left.pop(field) if isinstance(self.left.get(field), str) else None

    def files(self, field: str) -> list[str] | None:
        files = self.left.get(field)
        if not isinstance(files, list) or not all(isinstance(file, str) and file for file in files):
            return None
        del self.left[field]
        return files

    def count(self, field: str) -> int | None:
        value = self.left.get(field)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            return None
        del self.left[field]
        return value

    def cost(self) -> float | None:
        for field in _COSTS:
            value = self.left.get(field)
            if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
                del self.left[field]
                return value
        return None

    def document(
        self, end: str | None, experiment: str | None, configuration: JsonObject, files: list[str] | None
    ) -> Upgraded:
        inputs, outputs, cost = self.count("input_tokens"), self.count("output_tokens"), self.cost()
        costs: JsonObject = {"input_tokens": inputs, "output_tokens": outputs, "total_cost_usd": cost}
        if cost is not None:
            costs["cost_source"] = "given"
        name = {"experiment_name": experiment} if experiment is not None else {}
        new: JsonObject = {
            "metadata_version": "1.0",
            "generation": {"experiment_id": None, **name, "run_id": None, "timestamp_start": None}
            | {"timestamp_end": end, "duration_seconds": None},
            "configuration": configuration,
            "data_sources": {"files": files, "total_tokens": None},
            "environment": dict.fromkeys(("runcard_version", "python_version", "platform", "timezone")),
            "costs": costs,
        }
        total = self.left.get("total_tokens")
        is_sum = inputs is not None and outputs is not None and total == inputs + outputs
        if is_sum and not isinstance(total, bool):
            new["token_usage"] = {
                "total_input_tokens": inputs,
                "total_output_tokens": outputs,
                "total_tokens": self.left.pop("total_tokens"),
            }
        new["checksums"] = dict.fromkeys(("config", "data", "output"))
        if self.left:
            new["legacy"] = self.left
        return new, (), tuple(self.notes)
