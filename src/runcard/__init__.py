"""runcard: a verifiable record of every AI run.

A record is a directory of plain files. The packages are layers: a module imports only from its own layer or from below.
CONTRIBUTING.md lists them.

The names in `__all__` are the public library. Each is imported on first use, which keeps `import runcard` fast.
"""

from importlib import import_module as _import_module

from runcard.version import __version__

# False at run time. `typing`, which has a constant of this name, takes longer to import than all of this module; and a
# plain False would hide the imports below from editors that evaluate it.
TYPE_CHECKING = not __name__
if TYPE_CHECKING:
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
    from runcard.operations.archives.prune import prune
    from runcard.operations.archives.restore import restore
    from runcard.operations.archives.rm import rm
    from runcard.operations.catalog.catalog import Catalog
    from runcard.operations.catalog.export_dataset import export_dataset
    from runcard.operations.checks.diff import diff
    from runcard.operations.checks.load import load
    from runcard.operations.checks.show import show
    from runcard.operations.checks.validate import validate
    from runcard.operations.checks.verify_judged import verify
    from runcard.operations.experiments.create import create_experiment
    from runcard.operations.experiments.delete import delete_experiment
    from runcard.operations.experiments.list import list_experiments
    from runcard.operations.experiments.show import show_experiment
    from runcard.operations.plans.open import open_plan
    from runcard.operations.runs.close import close
    from runcard.operations.runs.export import export
    from runcard.operations.runs.log_metric import log_metric
    from runcard.operations.runs.record import record, start
    from runcard.operations.runs.rerun import rerun
    from runcard.operations.runs.watch import watch
    from runcard.operations.sessions.collect import collect
    from runcard.operations.sessions.import_sessions import import_sessions
    from runcard.operations.sessions.session import Session, current_session
    from runcard.plans.plan import Plan
    from runcard.recording.current_run import current_run
    from runcard.recording.metadata_recorder import MetadataRecorder
    from runcard.recording.run import Run
    from runcard.recording.session_instance import SessionInstance
    from runcard.store.find_record import open_record
    from runcard.store.record import Record

_HOMES = {
    "ArchiveIndex": "documents.archive_index",
    "Catalog": "operations.catalog.catalog",
    "Document": "documents.document",
    "Finding": "documents.findings",
    "Generation": "documents.run.generation",
    "Instance": "documents.session.instance",
    "InvalidDocument": "documents.findings",
    "Limits": "encoding",
    "Manifest": "documents.session.manifest",
    "MetadataRecorder": "recording.metadata_recorder",
    "Plan": "plans.plan",
    "Record": "store.record",
    "Report": "documents.findings",
    "Run": "recording.run",
    "RuncardError": "errors",
    "RuncardWarning": "errors",
    "Session": "operations.sessions.session",
    "SessionInstance": "recording.session_instance",
    "Team": "documents.session.team",
    "TestPlan": "documents.testplan.plan",
    "amend": "operations.amendments.amend",
    "archive": "operations.archives.archive",
    "close": "operations.runs.close",
    "collect": "operations.sessions.collect",
    "create_experiment": "operations.experiments.create",
    "current_run": "recording.current_run",
    "current_session": "operations.sessions.session",
    "delete_experiment": "operations.experiments.delete",
    "diff": "operations.checks.diff",
    "export": "operations.runs.export",
    "export_dataset": "operations.catalog.export_dataset",
    "import_sessions": "operations.sessions.import_sessions",
    "list_experiments": "operations.experiments.list",
    "load": "operations.checks.load",
    "log_metric": "operations.runs.log_metric",
    "migrate": "operations.amendments.migrate",
    "open_plan": "operations.plans.open",
    "open_record": "store.find_record",
    "prune": "operations.archives.prune",
    "record": "operations.runs.record",
    "redact": "operations.amendments.redact",
    "rerun": "operations.runs.rerun",
    "restore": "operations.archives.restore",
    "rm": "operations.archives.rm",
    "show": "operations.checks.show",
    "show_experiment": "operations.experiments.show",
    "start": "operations.runs.record",
    "validate": "operations.checks.validate",
    "verify": "operations.checks.verify_judged",
    "watch": "operations.runs.watch",
}

__all__ = [
    "ArchiveIndex",
    "Catalog",
    "Document",
    "Finding",
    "Generation",
    "Instance",
    "InvalidDocument",
    "Limits",
    "Manifest",
    "MetadataRecorder",
    "Plan",
    "Record",
    "Report",
    "Run",
    "RuncardError",
    "RuncardWarning",
    "Session",
    "SessionInstance",
    "Team",
    "TestPlan",
    "__version__",
    "amend",
    "archive",
    "close",
    "collect",
    "create_experiment",
    "current_run",
    "current_session",
    "delete_experiment",
    "diff",
    "export",
    "export_dataset",
    "import_sessions",
    "list_experiments",
    "load",
    "log_metric",
    "migrate",
    "open_plan",
    "open_record",
    "prune",
    "record",
    "redact",
    "rerun",
    "restore",
    "rm",
    "show",
    "show_experiment",
    "start",
    "validate",
    "verify",
    "watch",
]


if not TYPE_CHECKING:  # a type checker that saw this function would accept any name

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'runcard' has no attribute {name!r}")
        value = globals()[name] = getattr(_import_module(f"runcard.{_HOMES[name]}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
