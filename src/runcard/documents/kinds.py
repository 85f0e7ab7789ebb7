"""The kinds of document and their versions; light to import.

A kind is detected by the keys that only it has, never by a file's name.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple


class DocumentKind(NamedTuple):
    """One kind of document."""

    name: str
    about: str
    version_key: str
    versions: tuple[str, ...]  # published, oldest first
    sure: frozenset[str]  # any of these keys decides
    likely: frozenset[str]  # three of these keys decide as well
    unversioned: str | None = None  # the version of a document that states none
    reads_newer: bool = True  # whether a newer minor version is read, with a warning
    # A key of runcard's own, beside `version_key`, which then has the first version: such a document satisfies the
    # schemas of both versions. Without it, `version_key` decides.
    format_key: str | None = None

    @property
    def latest(self) -> str:
        return self.versions[-1]

    @property
    def schemas(self) -> tuple[str, ...]:
        """The names of the published schemas, oldest first: the versions, and those for `format_key`."""
        if self.format_key is None:
            return self.versions
        return (*self.versions, *(f"{self.versions[0]}+{version}" for version in self.versions[1:]))

    def key_of_version(self, data: Mapping[str, Any]) -> str:
        """The key that states the version of this document."""
        return (
            self.format_key if self.format_key is not None and self.format_key in data else self.version_key
        )

    def schema_of(self, data: Mapping[str, Any], version: str) -> str:
        """The name of the schema for a document of this version."""
        is_first = version == self.versions[0]
        is_written_so = self.key_of_version(data) == self.version_key
        return version if is_first or is_written_so else f"{self.versions[0]}+{version}"


GENERATION = DocumentKind(
    name="generation",
    about="one LLM generation: metadata.json of a run",
    version_key="metadata_version",
    versions=("1.0",),
    sure=frozenset({"metadata_version"}),
    likely=frozenset({"generation", "configuration", "data_sources", "environment", "costs", "checksums"}),
)
TEAM = DocumentKind(
    name="team",
    about="a team of agents: metadata.json of a session",
    version_key="version",
    versions=("1.0.0", "2.0.0"),
    sure=frozenset({"execution_summary"}),
    likely=frozenset({"team_session_id", "instances", "total_instances", "system_info", "created_at"}),
)
INSTANCE = DocumentKind(
    name="instance",
    about="one agent of a team: instances/<id>/metadata.json of a session",
    version_key="version",
    versions=("1.0.0", "2.0.0"),
    sure=frozenset({"children_instance_ids"}),
    likely=frozenset({"instance_id", "role", "model", "status", "created_at", "terminated_at", "workspace"}),
    format_key="format_version",
)
MANIFEST = DocumentKind(
    name="manifest",
    about="the index of a session's instances: manifest.json",
    version_key="version",
    versions=("1.0.0",),
    sure=frozenset({"instances_index"}),
    likely=frozenset({"team_session_id", "timestamp", "summary"}),
)
ARCHIVE_INDEX = DocumentKind(
    name="archive-index",
    about="the contents of an archive: archive_index.json",
    version_key="version",
    versions=("1.0.0",),
    sure=frozenset({"archived_sessions", "archived_runs"}),
    likely=frozenset(),
    unversioned="1.0.0",
)
TESTPLAN = DocumentKind(
    name="testplan",
    about="what the tests of one method must cover: metadata_*.yml of a project",
    version_key="format_version",
    versions=("1.3", "2.0"),
    sure=frozenset({"factories_detected"}),
    likely=frozenset({"analyzer", "validation", "test_level", "target", "characteristics", "automation"}),
    reads_newer=False,
)

# The input of `runcard collect`. It is not part of a record, and so not one of the kinds below.
SESSION_SPEC = DocumentKind(
    name="session-spec",
    about="the session to collect: the SPEC of runcard collect",
    version_key="",
    versions=("1.0.0",),
    sure=frozenset(),
    likely=frozenset(),
)

# Those of `runcard anchor`, which are in the store's own folder, or beside a record.
ANCHOR = DocumentKind(
    name="anchor",
    about="the heads of all records of a store, as the root of a tree: .runcard/anchors/*.json",
    version_key="anchor_version",
    versions=("1.0.0",),
    sure=frozenset(),
    likely=frozenset(),
)
ANCHOR_PROOF = DocumentKind(
    name="anchor-proof",
    about="the proof that a record is in an anchor: the output of runcard anchor --proof",
    version_key="anchor_proof_version",
    versions=("1.0.0",),
    sure=frozenset(),
    likely=frozenset(),
)

# What a signature covers. It is inside of an envelope, and so not one of the kinds below either.
RECORD_STATEMENT = DocumentKind(
    name="record-statement",
    about="what a signature of a record covers: in metadata.json.sig",
    version_key="",
    versions=("1",),
    sure=frozenset(),
    likely=frozenset(),
)

LEDGER_STATEMENT = DocumentKind(
    name="ledger-statement",
    about="what a signature of a store covers: in .runcard/ledgers.sig",
    version_key="",
    versions=("1",),
    sure=frozenset(),
    likely=frozenset(),
)

# In the order of detection: a manifest has a team_session_id as well.
KINDS = {kind.name: kind for kind in (MANIFEST, ARCHIVE_INDEX, GENERATION, TEAM, INSTANCE, TESTPLAN)}
# Those that have a schema.
_OTHERS = (SESSION_SPEC, RECORD_STATEMENT, LEDGER_STATEMENT, ANCHOR, ANCHOR_PROOF)
PUBLISHED = KINDS | {kind.name: kind for kind in _OTHERS}

# The keys of the two older formats of a generation document, which have no schema.
_FLAT = frozenset(
    {"generated_at", "persona_count", "source_files", "input_tokens", "output_tokens", "total_tokens"}
)
_FLAT_0_1_0 = frozenset({"experiment", "input_files", "generation_parameters", "timestamp"})


def detect(data: Mapping[str, Any]) -> DocumentKind | None:
    """The kind of a document, by its keys."""
    keys = data.keys()
    for kind in KINDS.values():
        if not kind.sure.isdisjoint(keys):
            return kind
    for kind in KINDS.values():
        if len(kind.likely & keys) >= 3:
            return kind
    return GENERATION if is_legacy(data) else None


def is_legacy(data: Mapping[str, Any]) -> bool:
    """Whether this is a generation document in one of the two older, flat formats."""
    keys = data.keys()
    if "metadata_version" in keys:
        return False
    if data.get("version") == "0.1.0":
        return len(_FLAT_0_1_0 & keys) >= 2
    return "generated_at" in keys and "version" not in keys and len(_FLAT & keys) >= 2
