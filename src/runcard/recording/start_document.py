"""The start document of a run: what is known before anything has happened."""

import os
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from runcard.documents.run.application import version_key
from runcard.encoding import JsonObject
from runcard.encoding.shorten import fitted, size
from runcard.errors import UsageError
from runcard.files import is_safe_id, json_name
from runcard.masking import mask_command, mask_data
from runcard.masking.marks import add_counts
from runcard.observe.clock import Clock, timestamp
from runcard.observe.process import this_process
from runcard.recording.argument_checks import check_application, check_config, check_labels
from runcard.version import __version__

if TYPE_CHECKING:
    from runcard.masking.marks import Masked

MaskedCounts = dict[str, dict[str, int]]  # where → rule → how often

# As W3C writes it: no version ff, and neither id all zeros.
_TRACEPARENT = "(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"


class _GivenValues(NamedTuple):
    """What the user says about a run."""

    configuration: JsonObject
    labels: JsonObject
    command: list[str]
    environment: JsonObject  # the version of the program, by its key
    reproduce: JsonObject | None  # the options for running it again


def start_settings(
    *,
    model: str | None = None,
    provider: str | None = None,
    config: object = None,
    experiment: str | None = None,
    labels: Mapping[str, object] | None = None,
    parent: str | None = None,
    application: str | None = None,
    application_version: str | None = None,
) -> JsonObject:
    """The arguments that describe a run, checked; raises UsageError for what a record cannot hold."""
    for name, value in (("experiment", experiment), ("parent", parent)):
        if value is not None and not is_safe_id(value):
            raise UsageError(
                f"{name} {value!r} is not a valid name", hint="use letters, digits, dots, dashes, underscores"
            )
    named = check_config({"model": model, "provider": provider}).value
    configuration = check_config({} if config is None else config)
    return {
        **named,
        "config": configuration.value,
        "masked": configuration.counts,
        "experiment": experiment,
        "labels": check_labels({} if labels is None else labels),
        "parent": parent,
        "application": _application(application, application_version),
        "command": [json_name(argument).text for argument in sys.orig_argv],
    }


def _application(name: str | None, version: str | None) -> JsonObject | None:
    """The program that generates, with its version: that of the installed distribution, if none is given."""
    application = check_application(name, version)
    if application is not None and version is None:
        from runcard.observe.packages import normalized, packages  # noqa: PLC0415 - few give a name alone

        application["version"] = packages(sys.path).get(normalized(application["name"]))
    return application


def application_warning(settings: JsonObject) -> str | None:
    """A warning about a program whose version is not known."""
    application = settings["application"]
    if application is None or application["version"] is not None:
        return None
    name = application["name"]
    return f"the version of {name} is not recorded: no version is given, and no distribution {name} is installed here"


def start_document(
    clock: Clock,
    run_id: str | None,
    experiment_id: str | None,
    settings: JsonObject,
    parent: str | None,
    *,
    keep_secrets: bool,
) -> tuple[JsonObject, MaskedCounts]:
    """The start document of a run, and how often each rule masked something in it."""
    given, counts = _given_values(settings, keep_secrets=keep_secrets)
    document: JsonObject = {
        "metadata_version": "1.0",
        "producer": {"name": "runcard", "version": __version__},
        "generation": {
            "experiment_id": experiment_id,
            "experiment_name": settings["experiment"],
            "run_id": run_id,
            "status": "running",
            "timestamp_start": timestamp(clock.started),
            "timestamp_end": None,
            "duration_seconds": None,
            "command": given.command,
            "exit_code": None,
            "labels": given.labels,
            "process": this_process(),
            "estimated": [],
        },
        "configuration": given.configuration,
        "data_sources": {"files": [], "total_files": 0, "total_bytes": 0, "total_tokens": None},
        "environment": {
            **given.environment,
            "runcard_version": __version__,
            **dict.fromkeys(
                ("python_version", "platform", "timezone", "git", "packages", "lockfiles", "container")
            ),
        },
        "costs": {"input_tokens": None, "output_tokens": None, "total_cost_usd": None},
        "relations": [{"type": "parent", "id": parent}] if parent else [],
        "trace": settings.get("trace") or _trace(),
        "checksums": {"config": None, "data": None, "output": None},
    }
    if function := settings.get("function"):
        document["generation"]["function"] = function
    if given.reproduce is not None:
        document["reproduce"] = given.reproduce
    if keep_secrets:
        document["keep_secrets"] = True
    return document, counts


def _given_values(settings: JsonObject, *, keep_secrets: bool) -> tuple[_GivenValues, MaskedCounts]:
    """The user's values as they are recorded, and how often each rule masked something in them."""
    given = _GivenValues(
        {"model": None, "provider": None, **given_configuration(settings)},
        settings["labels"],
        settings["command"],
        _application_version(settings["application"]),
        settings.get("reproduce"),
    )
    counts: MaskedCounts = {}
    if not keep_secrets:
        masked: dict[str, Masked[Any]] = {
            "configuration": mask_data(given.configuration),
            "labels": mask_data(given.labels),
            "command": mask_command(given.command),
        }
        if given.environment:
            masked["environment"] = mask_data(given.environment)
        if given.reproduce is not None:
            masked["reproduce"] = mask_data(given.reproduce)
        given = given._replace(**{name: each.value for name, each in masked.items()})
        counts = {name: dict(each.counts) for name, each in masked.items()}
        add_counts(counts["command"], settings.get("masked_in_command", {}))
    add_counts(counts.setdefault("configuration", {}), settings.get("masked", {}))
    return given, counts


def _application_version(application: JsonObject | None) -> JsonObject:
    if application is None or application["version"] is None:
        return {}
    return {str(version_key(application["name"])): application["version"]}


def cut_start_document(document: JsonObject, limit: int) -> list[str]:
    """Cut the user's values in a start document so that it fits an event of `limit` bytes; returns warnings."""
    warnings: list[str] = []
    generation, reproduce = document["generation"], document.get("reproduce")
    if (
        size([document["configuration"], generation["labels"], generation["command"], reproduce])
        <= limit // 2
    ):
        return warnings
    if size(reproduce) > limit // 8:
        del document["reproduce"]  # patterns that were cut would select other files
        warnings.append("the options for running it again are not recorded: they are too long")
    for fields, name, share in (
        (document, "configuration", limit // 2),
        (generation, "labels", limit // 8),
        (generation, "command", limit // 8),
    ):
        before = size(fields[name])
        if before > share:
            fields[name] = fitted({name: fields[name]}, share)[name]
            warnings.append(f"the {name} had {before:,} bytes; at most {share:,} are recorded, so it was cut")
    return warnings


def given_configuration(settings: JsonObject) -> JsonObject:
    """The user's configuration, secrets included; the arguments `model` and `provider` override it."""
    arguments = {key: settings[key] for key in ("model", "provider") if settings[key] is not None}
    return {**settings["config"], **arguments}


def _trace() -> JsonObject | None:
    parent = traceparent()
    return {"traceparent": parent} if parent else None


def traceparent() -> str | None:
    """The trace that this run is a part of: the variable TRACEPARENT, if it is valid."""
    parent = os.environ.get("TRACEPARENT", "")
    return parent if re.fullmatch(_TRACEPARENT, parent) else None
