"""runcard: every AI run leaves a record that you can trust.

The record lies in the output directory as plain files. Data flows one way, and imports point the other way only:

    cli                   the command line
    operations            one module for each thing a user can do; returns results, never prints
    views                 how people see records
    store, observe        how records live on disk and stay true; where facts come from
    plans                 test plans: names, freshness, ownership, order, and the Ruby they are about
    redaction, accounting masking of secrets; usage, tokens and prices
    settings              what can be set, and where each value comes from
    documents             what a record says: models, schemas, rules, versions. Pure
    checksums             SHA256SUMS: making, reading, comparing
    files                 atomic writing, hostile names, locks, a walk in stable order
    digests, encoding     digests as values; bytes ⇄ plain data
    errors                who must act, and the exit codes

The names below are the library; each is imported when it is first used, so that `import runcard` costs next to nothing.
"""

from importlib import import_module

from runcard.version import __version__

TYPE_CHECKING = False  # as in typing, whose import alone would take longer than all of this
if TYPE_CHECKING:
    from typing import Any

    from runcard.documents.archive_index import ArchiveIndex
    from runcard.documents.document import Document
    from runcard.documents.findings import Finding, InvalidDocument, Report
    from runcard.documents.run.generation import Generation
    from runcard.documents.session.instance import Instance
    from runcard.documents.session.manifest import Manifest
    from runcard.documents.session.team import Team
    from runcard.documents.testplan.plan import TestPlan
    from runcard.encoding import Limits
    from runcard.errors import RuncardError, RuncardWarning
    from runcard.operations.amendments.amend import amend
    from runcard.operations.amendments.migrate import migrate
    from runcard.operations.amendments.redact import redact
    from runcard.operations.archives.archive import archive
    from runcard.operations.archives.restore import restore
    from runcard.operations.checks.load import load
    from runcard.operations.checks.validate import validate
    from runcard.operations.checks.verify import verify
    from runcard.operations.plans.open import open_plan
    from runcard.operations.runs.record import record
    from runcard.operations.runs.watch import watch
    from runcard.operations.sessions.collect import collect
    from runcard.plans.plan import Plan
    from runcard.recording.metadata_recorder import MetadataRecorder
    from runcard.recording.run import Run, current_run

_HOMES = {
    "ArchiveIndex": "documents.archive_index",
    "Document": "documents.document",
    "Finding": "documents.findings",
    "Generation": "documents.run.generation",
    "Instance": "documents.session.instance",
    "InvalidDocument": "documents.findings",
    "Limits": "encoding",
    "Manifest": "documents.session.manifest",
    "MetadataRecorder": "recording.metadata_recorder",
    "Plan": "plans.plan",
    "Report": "documents.findings",
    "Run": "recording.run",
    "RuncardError": "errors",
    "RuncardWarning": "errors",
    "Team": "documents.session.team",
    "TestPlan": "documents.testplan.plan",
    "amend": "operations.amendments.amend",
    "archive": "operations.archives.archive",
    "collect": "operations.sessions.collect",
    "current_run": "recording.run",
    "load": "operations.checks.load",
    "migrate": "operations.amendments.migrate",
    "open_plan": "operations.plans.open",
    "record": "operations.runs.record",
    "redact": "operations.amendments.redact",
    "restore": "operations.archives.restore",
    "validate": "operations.checks.validate",
    "verify": "operations.checks.verify",
    "watch": "operations.runs.watch",
}

__all__ = [
    "ArchiveIndex",
    "Document",
    "Finding",
    "Generation",
    "Instance",
    "InvalidDocument",
    "Limits",
    "Manifest",
    "MetadataRecorder",
    "Plan",
    "Report",
    "Run",
    "RuncardError",
    "RuncardWarning",
    "Team",
    "TestPlan",
    "__version__",
    "amend",
    "archive",
    "collect",
    "current_run",
    "load",
    "migrate",
    "open_plan",
    "record",
    "redact",
    "restore",
    "validate",
    "verify",
    "watch",
]


def __getattr__(name: str) -> "Any":  # noqa: ANN401
    if name not in _HOMES:
        raise AttributeError(f"module 'runcard' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"runcard.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
