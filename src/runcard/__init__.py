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
    from runcard.documents.generation import Generation
    from runcard.documents.instance import Instance
    from runcard.documents.manifest import Manifest
    from runcard.documents.team import Team
    from runcard.documents.testplan import TestPlan
    from runcard.encoding import Limits
    from runcard.errors import RuncardError, RuncardWarning
    from runcard.operations.amend import amend
    from runcard.operations.archive import archive
    from runcard.operations.collect import collect
    from runcard.operations.load import load
    from runcard.operations.migrate import migrate
    from runcard.operations.plans.opening import open_plan
    from runcard.operations.record import Run, current_run, record
    from runcard.operations.recorder import MetadataRecorder
    from runcard.operations.redact import redact
    from runcard.operations.restore import restore
    from runcard.operations.validate import validate
    from runcard.operations.verify import verify
    from runcard.operations.watch import watch
    from runcard.plans.plan import Plan

_HOMES = {
    "ArchiveIndex": "documents.archive_index",
    "Document": "documents.document",
    "Finding": "documents.findings",
    "Generation": "documents.generation",
    "Instance": "documents.instance",
    "InvalidDocument": "documents.findings",
    "Limits": "encoding",
    "Manifest": "documents.manifest",
    "MetadataRecorder": "operations.recorder",
    "Plan": "plans.plan",
    "Report": "documents.findings",
    "Run": "operations.record",
    "RuncardError": "errors",
    "RuncardWarning": "errors",
    "Team": "documents.team",
    "TestPlan": "documents.testplan",
    "amend": "operations.amend",
    "archive": "operations.archive",
    "collect": "operations.collect",
    "current_run": "operations.record",
    "load": "operations.load",
    "migrate": "operations.migrate",
    "open_plan": "operations.plans.opening",
    "record": "operations.record",
    "redact": "operations.redact",
    "restore": "operations.restore",
    "validate": "operations.validate",
    "verify": "operations.verify",
    "watch": "operations.watch",
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
