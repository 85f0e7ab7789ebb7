"""Upgrade the two older, flat formats of a generation document to 1.0.

A field that 1.0 does not have, or whose value is not valid there, is kept unchanged under `legacy`. The old tools wrote
their timestamp when they saved the result, so it becomes `timestamp_end`. A time without a zone is used only if the user
names the zone.
"""

from datetime import datetime, tzinfo

from runcard.documents.findings import display_value
from runcard.documents.times import format_time, parse_time
from runcard.encoding import JsonObject

Upgrade = tuple[JsonObject, tuple[str, ...], tuple[str, ...]]  # data, dropped (nothing ever is), notes

_TEXTS = ("model", "provider")
_COSTS = ("total_cost_usd", "cost_usd", "total_cost", "cost")


def from_flat(old: JsonObject, zone: tzinfo | None) -> Upgrade:
    """The unversioned format: `generated_at`, `source_files` and counts."""
    fields = _LegacyFields(old, zone)
    end = fields.time("generated_at")
    configuration = fields.settings(("model", "provider", "persona_count"))
    files = fields.files("source_files")
    return fields.document(end, None, configuration, files)


def from_0_1_0(old: JsonObject, zone: tzinfo | None) -> Upgrade:
    """The format of `version: "0.1.0"`: `timestamp`, `input_files`, `generation_parameters`."""
    fields = _LegacyFields(old, zone)
    fields.rest.pop("version")
    end = fields.time("timestamp")
    configuration = fields.settings(("model", "provider"))
    parameters = old.get("generation_parameters")
    if isinstance(parameters, dict) and _fits(parameters) and not parameters.keys() & configuration.keys():
        configuration |= parameters
        fields.rest.pop("generation_parameters")
    files = fields.files("input_files")
    return fields.document(end, fields.text("experiment"), configuration, files)


def _fits(configuration: JsonObject) -> bool:
    return all(isinstance(configuration.get(field), str | None) for field in _TEXTS)


class _LegacyFields:
    """The fields of an older document that have not been converted yet."""

    def __init__(self, old: JsonObject, zone: tzinfo | None) -> None:
        self.rest = dict(old)
        self.zone = zone
        self.notes: list[str] = []

    def time(self, field: str) -> str | None:
        """A time in UTC; one without a zone is not converted unless the user named the zone."""
        text = self.rest.get(field)
        if not isinstance(text, str):
            return None
        utc = self._utc(text)
        if utc is None:
            self.notes.append(
                f"{field} {display_value(text)} is not a time with a zone: timestamp_end is null and the text is kept under legacy"
                " (name the zone with --timezone)"
            )
            return None
        del self.rest[field]
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
            field: self.rest.pop(field)
            for field in fields
            if field in self.rest and (field not in _TEXTS or isinstance(self.rest[field], str | None))
        }

    def text(self, field: str) -> str | None:
        return self.rest.pop(field) if isinstance(self.rest.get(field), str) else None

    def files(self, field: str) -> list[str] | None:
        files = self.rest.get(field)
        if not isinstance(files, list) or not all(isinstance(file, str) and file for file in files):
            return None
        del self.rest[field]
        return files

    def count(self, field: str) -> int | None:
        value = self.rest.get(field)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            return None
        del self.rest[field]
        return value

    def cost(self) -> float | None:
        for field in _COSTS:
            value = self.rest.get(field)
            if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
                del self.rest[field]
                return value
        return None

    def document(
        self, end: str | None, experiment: str | None, configuration: JsonObject, files: list[str] | None
    ) -> Upgrade:
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
        total = self.rest.get("total_tokens")
        is_sum = inputs is not None and outputs is not None and total == inputs + outputs
        if is_sum and not isinstance(total, bool):
            new["token_usage"] = {
                "total_input_tokens": inputs,
                "total_output_tokens": outputs,
                "total_tokens": self.rest.pop("total_tokens"),
            }
        new["checksums"] = dict.fromkeys(("config", "data", "output"))
        if self.rest:
            new["legacy"] = self.rest
        return new, (), tuple(self.notes)
