"""The table of settings: keys, types, defaults, environment variables, options, and guards.

To add a setting, define it here, list it in `ALL`, export it from `runcard.settings`, and add its row to docs/settings.md
(a test compares them).
"""

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from runcard.encoding.limits import DEFAULT
from runcard.settings.guards import (
    INSIDE_PROJECT,
    NO_FEWER_EXCLUDES,
    NO_MORE_INCLUDES,
    NO_MORE_PERMISSIONS,
    NOT_RAISED,
    NOT_SWITCHED_OFF,
    NOT_TRUSTED,
    OWN_DESTINATION,
    OWN_FILES,
    OWN_SIGNATURE,
    SAFE,
    UNCHANGED,
    TrustGuard,
)
from runcard.settings.value_types import (
    ALWAYS,
    BOOL,
    COUNT,
    MODE,
    NUMBER,
    OBJECT_LOCK,
    OBJECT_URL,
    PATH,
    PATH_OR_SERVER,
    PATTERNS,
    PLAN_FORMAT,
    SECRET_PATTERNS,
    SIZE,
    TEXT,
    WEB_ADDRESS,
    ValueType,
    optional,
)

if TYPE_CHECKING:
    from runcard.masking import UserPattern

T = TypeVar("T")

GIBIBYTE = 1024**3


class Setting(Generic[T]):
    """One setting. A plain class: creating a dataclass takes longer than the rest of this module."""

    __slots__ = (
        "about",
        "accumulates",
        "default",
        "guard",
        "key",
        "option",
        "use",
        "value_type",
        "variables",
    )

    def __init__(  # noqa: PLR0913 - the columns of a table
        self,
        key: str,  # in a file; dots separate tables
        value_type: ValueType[T],
        default: T,
        about: str,
        variables: tuple[str, ...] = (),  # the first one that is set is used
        option: str | None = None,  # of commands that have one
        *,
        guard: TrustGuard[T] | None,  # what an untrusted project file may not set; SAFE: it may set anything
        use: str | None = None,  # what a path is used for: "write" below it, or "read" it
        accumulates: bool = False,  # whether the lists of all origins are combined, instead of the first one used
    ) -> None:
        self.key, self.value_type, self.default, self.about = key, value_type, default, about
        self.variables, self.option, self.guard, self.use = variables, option, guard, use
        self.accumulates = accumulates


OUTPUTS = Setting(
    "outputs",
    PATH,
    "outputs",
    "directory for runs",
    ("RUNCARD_OUTPUTS",),
    "--outputs",
    guard=INSIDE_PROJECT,
    use="write",
)
PRICES = Setting(
    "prices",
    optional(PATH, "only the packaged prices"),
    None,
    "your own price file, used before the packaged prices",
    ("RUNCARD_PRICES",),
    guard=INSIDE_PROJECT,
    use="read",
)

ARTIFACTS_DIR = Setting(
    "artifacts.dir",
    PATH,
    "artifacts",
    "directory for sessions",
    ("ARTIFACTS_DIR",),
    "--artifacts",
    guard=INSIDE_PROJECT,
    use="write",
)
ARTIFACTS_ENABLED = Setting(
    "artifacts.enabled",
    BOOL,
    True,
    "whether sessions are collected",
    ("ARTIFACTS_ENABLED", "PRESERVE_ARTIFACTS"),
    guard=UNCHANGED,
)
ARTIFACTS_PATTERNS: Setting[tuple[str, ...]] = Setting(
    "artifacts.patterns",
    PATTERNS,
    (),
    "files to copy from workspaces; none: all",
    ("ARTIFACTS_PATTERNS", "ARTIFACT_PATTERNS"),
    "--include",
    guard=NO_MORE_INCLUDES,
)
ARTIFACTS_EXCLUDE_PATTERNS: Setting[tuple[str, ...]] = Setting(
    "artifacts.exclude_patterns",
    PATTERNS,
    (),
    "files not to copy, in addition to those that are never copied",
    ("ARTIFACTS_EXCLUDE_PATTERNS",),
    "--exclude",
    guard=NO_FEWER_EXCLUDES,
)
ARTIFACTS_GITIGNORE = Setting(
    "artifacts.gitignore",
    BOOL,
    False,
    "respect .gitignore in workspaces",
    ("RUNCARD_GITIGNORE",),
    "--gitignore",
    guard=NOT_SWITCHED_OFF,
)
ARTIFACTS_METADATA_ONLY = Setting(
    "artifacts.metadata_only",
    BOOL,
    False,
    "copy no workspaces and no transcripts",
    ("ARTIFACTS_COPY_METADATA_ONLY",),
    "--metadata-only",
    guard=UNCHANGED,
)
ARTIFACTS_NO_TRANSCRIPTS = Setting(
    "artifacts.no_transcripts",
    BOOL,
    False,
    "copy no transcripts",
    ("RUNCARD_NO_TRANSCRIPTS",),
    "--no-transcripts",
    guard=UNCHANGED,
)
ARTIFACTS_MASK_WORKSPACES = Setting(
    "artifacts.mask_workspaces",
    BOOL,
    False,
    "mask secrets in all text files of workspaces, and not only in configuration files",
    ("RUNCARD_MASK_WORKSPACES",),
    "--mask-workspaces",
    guard=UNCHANGED,
)
ARTIFACTS_MAX_FILE_SIZE: Setting[int | None] = Setting(
    "artifacts.max_file_size",
    optional(SIZE, "no limit"),
    4 * GIBIBYTE,
    "maximum size of a file; larger ones are not copied",
    ("RUNCARD_MAX_FILE_SIZE",),
    "--max-file-size",
    guard=NOT_RAISED,
)
ARTIFACTS_MAX_SIZE: Setting[int | None] = Setting(
    "artifacts.max_size",
    optional(SIZE, "no limit"),
    100 * GIBIBYTE,
    "maximum size of one session",
    ("RUNCARD_MAX_SIZE",),
    "--max-size",
    guard=NOT_RAISED,
)
ARTIFACTS_DIRECTORY_MODE = Setting(
    "artifacts.directory_mode",
    MODE,
    0o700,
    "permissions of a session's directories",
    ("RUNCARD_DIRECTORY_MODE",),
    guard=NO_MORE_PERMISSIONS,
)
ARTIFACTS_FILE_MODE = Setting(
    "artifacts.file_mode",
    MODE,
    0o600,
    "permissions of a session's files",
    ("RUNCARD_FILE_MODE",),
    guard=NO_MORE_PERMISSIONS,
)

ARTIFACTS_COMPRESS = Setting(
    "artifacts.compress",
    BOOL,
    False,
    "archive a session right after collecting it",
    ("ARTIFACTS_COMPRESS",),
    guard=SAFE,
)
ARTIFACTS_RETENTION_DAYS: Setting[int | None] = Setting(
    "artifacts.retention_days",
    optional(COUNT, "sessions are never deleted"),
    None,
    "age in days after which `prune` deletes sessions",
    ("ARTIFACTS_RETENTION_DAYS",),
    guard=UNCHANGED,
)
ARTIFACTS_MAX_SIZE_GB: Setting[float | None] = Setting(
    "artifacts.max_size_gb",
    optional(NUMBER, "no limit"),
    None,
    "maximum size of all sessions in GB; above it nothing is collected",
    ("ARTIFACTS_MAX_SIZE_GB",),
    guard=UNCHANGED,
)

REMOTE_OUTPUTS: Setting[str | None] = Setting(
    "remote.outputs",
    optional(OBJECT_URL, "archives stay in the store"),
    None,
    "URL of the folder in object storage that `archive` puts runs into",
    ("RUNCARD_REMOTE_OUTPUTS",),
    guard=OWN_DESTINATION,
)
ARTIFACTS_REMOTE: Setting[str | None] = Setting(
    "artifacts.remote",
    optional(OBJECT_URL, "archives stay in the store"),
    None,
    "URL of the folder in object storage that `archive` puts sessions into",
    ("ARTIFACTS_REMOTE",),
    guard=OWN_DESTINATION,
)
REMOTE_LOCK: Setting[tuple[str, int] | None] = Setting(
    "remote.lock",
    optional(OBJECT_LOCK, "objects are not locked"),
    None,
    "object lock of new archives in S3",
    ("RUNCARD_REMOTE_LOCK",),
    guard=OWN_DESTINATION,
)

ARTIFACTS_SPECS: Setting[str | None] = Setting(
    "artifacts.specs",
    optional(PATH, "no folder"),
    None,
    "folder of SPECs, in which a session is found by its id",
    ("ARTIFACTS_SPECS",),
    guard=OWN_FILES,
    use="read",
)
ARTIFACTS_TIMEOUT: Setting[float | None] = Setting(
    "artifacts.timeout",
    optional(NUMBER, "no limit"),
    None,
    "seconds that collecting a team by its id may take",
    ("ARTIFACTS_TIMEOUT",),
    guard=SAFE,
)

CATALOG: Setting[str | None] = Setting(
    "catalog.url",
    optional(PATH_OR_SERVER, "in your data directory"),
    None,
    "file or PostgreSQL server of the catalog, by which records are found; none: in your data directory",
    ("RUNCARD_CATALOG",),
    guard=UNCHANGED,
    use="write",
)

PLANS_FORMAT = Setting(
    "plans.format",
    PLAN_FORMAT,
    "1.3",
    "format of new test plans",
    ("RUNCARD_PLAN_FORMAT",),
    "--format",
    guard=SAFE,
)
PLANS_TAGS = Setting(
    "plans.tags",
    BOOL,
    True,
    "whether the contexts of a skeleton name their state in a tag",
    ("RUNCARD_PLAN_TAGS",),
    guard=SAFE,
)

SIGN = Setting(
    "sign",
    ALWAYS,
    False,
    "whether runs and sessions are signed when they are closed: always or never",
    ("RUNCARD_SIGN",),
    guard=OWN_SIGNATURE,
)
SIGNING_KEY: Setting[str | None] = Setting(
    "signing.key",
    optional(PATH, "it is named with --key or --ssh"),
    None,
    "private key to sign with, or the .pub file of a key in the SSH agent",
    ("RUNCARD_SIGNING_KEY",),
    guard=OWN_SIGNATURE,
    use="read",
)
TIMESTAMP_AUTHORITY: Setting[str | None] = Setting(
    "timestamp.authority",
    optional(WEB_ADDRESS, "none; it is named with --tsa"),
    None,
    "URL of the time-stamping authority of `runcard timestamp` and `runcard anchor`",
    ("RUNCARD_TSA",),
    "--tsa",
    guard=NOT_TRUSTED,
)
TIMESTAMP_CERTIFICATES: Setting[str | None] = Setting(
    "timestamp.certificates",
    optional(PATH, "no authority is trusted"),
    None,
    "certificates of the time-stamping authorities that you trust, as PEM",
    ("RUNCARD_TSA_CERTS",),
    "--tsa-certs",
    guard=NOT_TRUSTED,
    use="read",
)

MASKING_PATTERNS: "Setting[tuple[UserPattern, ...]]" = Setting(
    "masking.patterns",
    SECRET_PATTERNS,
    (),
    "patterns of your own secrets, masked in addition to the built-in rules",
    ("RUNCARD_MASKING_PATTERNS",),
    guard=SAFE,
    accumulates=True,
)

EXPORT_LICENSE: Setting[str | None] = Setting(
    "export.license",
    optional(TEXT, "not known"),
    None,
    "license of exported records: an SPDX id, or a URL. An RO-Crate needs one",
    ("RUNCARD_LICENSE",),
    "--license",
    guard=SAFE,
)
EXPORT_AUTHOR: Setting[str | None] = Setting(
    "export.author",
    optional(TEXT, "not known"),
    None,
    "author in exported citations and crates",
    ("RUNCARD_AUTHOR",),
    "--author",
    guard=SAFE,
)

LIMITS_SIZE = Setting(
    "limits.size",
    SIZE,
    DEFAULT.size,
    "maximum size of a document that is read",
    ("RUNCARD_LIMITS_SIZE",),
    guard=NOT_RAISED,
)
LIMITS_DEPTH = Setting(
    "limits.depth",
    COUNT,
    DEFAULT.depth,
    "maximum nesting of a document",
    ("RUNCARD_LIMITS_DEPTH",),
    guard=NOT_RAISED,
)
LIMITS_DIGITS = Setting(
    "limits.digits",
    COUNT,
    DEFAULT.digits,
    "maximum digits of an integer",
    ("RUNCARD_LIMITS_DIGITS",),
    guard=NOT_RAISED,
)
LIMITS_EXPANSION = Setting(
    "limits.expansion",
    COUNT,
    DEFAULT.expansion,
    "maximum number of values from YAML aliases",
    ("RUNCARD_LIMITS_EXPANSION",),
    guard=NOT_RAISED,
)

ALL: tuple[Setting[Any], ...] = (
    OUTPUTS,
    PRICES,
    ARTIFACTS_DIR,
    ARTIFACTS_ENABLED,
    ARTIFACTS_PATTERNS,
    ARTIFACTS_EXCLUDE_PATTERNS,
    ARTIFACTS_GITIGNORE,
    ARTIFACTS_METADATA_ONLY,
    ARTIFACTS_NO_TRANSCRIPTS,
    ARTIFACTS_MASK_WORKSPACES,
    ARTIFACTS_MAX_FILE_SIZE,
    ARTIFACTS_MAX_SIZE,
    ARTIFACTS_DIRECTORY_MODE,
    ARTIFACTS_FILE_MODE,
    ARTIFACTS_COMPRESS,
    ARTIFACTS_RETENTION_DAYS,
    ARTIFACTS_MAX_SIZE_GB,
    ARTIFACTS_REMOTE,
    REMOTE_OUTPUTS,
    REMOTE_LOCK,
    ARTIFACTS_SPECS,
    ARTIFACTS_TIMEOUT,
    CATALOG,
    PLANS_FORMAT,
    PLANS_TAGS,
    SIGN,
    SIGNING_KEY,
    TIMESTAMP_AUTHORITY,
    TIMESTAMP_CERTIFICATES,
    MASKING_PATTERNS,
    EXPORT_LICENSE,
    EXPORT_AUTHOR,
    LIMITS_SIZE,
    LIMITS_DEPTH,
    LIMITS_DIGITS,
    LIMITS_EXPANSION,
)
