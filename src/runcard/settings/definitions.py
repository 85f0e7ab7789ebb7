"""The settings there are: their names, their defaults, the names they go by in the environment, and their guards."""

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from runcard.encoding.limits import DEFAULT
from runcard.settings.guards import (
    INSIDE,
    NOT_BROUGHT_BACK,
    NOT_INCLUDED,
    NOT_OFF,
    NOT_OPENED,
    NOT_RAISED,
    SAFE,
    UNCHANGED,
    TrustGuard,
)
from runcard.settings.value_types import (
    BOOL,
    COUNT,
    MODE,
    NUMBER,
    PATH,
    PATTERNS,
    SECRETS,
    SIZE,
    ValueType,
    optional,
)

if TYPE_CHECKING:
    from runcard.masking import UserPattern

T = TypeVar("T")

GIBIBYTE = 1024**3


class Setting(Generic[T]):
    """One thing that can be set. A plain class: to make a dataclass takes as long as all the rest here."""

    __slots__ = ("about", "adds_up", "default", "guard", "key", "option", "use", "value_type", "variables")

    def __init__(  # noqa: PLR0913 - the columns of a table
        self,
        key: str,  # in a file; the dots stand for tables
        value_type: ValueType[T],
        default: T,
        about: str,
        variables: tuple[str, ...] = (),  # the first one that is set counts
        option: str | None = None,  # of the commands that have it
        *,
        guard: TrustGuard[T] | None,  # what a repository's file may not set without trust; SAFE: nothing
        use: str | None = None,  # what a path must be good for: to "write" below it, or to "read" it
        adds_up: bool = False,  # whether the lists of all places count together, and none replaces another
    ) -> None:
        self.key, self.value_type, self.default, self.about = key, value_type, default, about
        self.variables, self.option, self.guard, self.use = variables, option, guard, use
        self.adds_up = adds_up


OUTPUTS = Setting(
    "outputs", PATH, "outputs", "where runs go", ("RUNCARD_OUTPUTS",), "--outputs", guard=INSIDE, use="write"
)
PRICES = Setting(
    "prices",
    optional(PATH, "only the prices that came with runcard"),
    None,
    "a price file of your own, asked before the packaged one",
    ("RUNCARD_PRICES",),
    guard=INSIDE,
    use="read",
)

ARTIFACTS_DIR = Setting(
    "artifacts.dir",
    PATH,
    "artifacts",
    "where sessions go",
    ("ARTIFACTS_DIR",),
    "--artifacts",
    guard=INSIDE,
    use="write",
)
ARTIFACTS_ENABLED = Setting(
    "artifacts.enabled",
    BOOL,
    True,
    "collect sessions at all",
    ("ARTIFACTS_ENABLED", "PRESERVE_ARTIFACTS"),
    guard=UNCHANGED,
)
ARTIFACTS_PATTERNS: Setting[tuple[str, ...]] = Setting(
    "artifacts.patterns",
    PATTERNS,
    (),
    "what to copy of workspaces; nothing said means everything",
    ("ARTIFACTS_PATTERNS", "ARTIFACT_PATTERNS"),
    "--include",
    guard=NOT_INCLUDED,
)
ARTIFACTS_EXCLUDE_PATTERNS: Setting[tuple[str, ...]] = Setting(
    "artifacts.exclude_patterns",
    PATTERNS,
    (),
    "what not to copy, beside what is never copied",
    ("ARTIFACTS_EXCLUDE_PATTERNS",),
    "--exclude",
    guard=NOT_BROUGHT_BACK,
)
ARTIFACTS_GITIGNORE = Setting(
    "artifacts.gitignore",
    BOOL,
    False,
    "respect .gitignore in workspaces",
    ("RUNCARD_GITIGNORE",),
    "--gitignore",
    guard=NOT_OFF,
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
    "mask secrets in text files of workspaces too",
    ("RUNCARD_MASK_WORKSPACES",),
    "--mask-workspaces",
    guard=UNCHANGED,
)
ARTIFACTS_MAX_FILE_SIZE: Setting[int | None] = Setting(
    "artifacts.max_file_size",
    optional(SIZE, "no limit"),
    4 * GIBIBYTE,
    "a larger file is not copied",
    ("RUNCARD_MAX_FILE_SIZE",),
    "--max-file-size",
    guard=NOT_RAISED,
)
ARTIFACTS_MAX_SIZE: Setting[int | None] = Setting(
    "artifacts.max_size",
    optional(SIZE, "no limit"),
    100 * GIBIBYTE,
    "what one session may hold in all",
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
    guard=NOT_OPENED,
)
ARTIFACTS_FILE_MODE = Setting(
    "artifacts.file_mode",
    MODE,
    0o600,
    "permissions of a session's files",
    ("RUNCARD_FILE_MODE",),
    guard=NOT_OPENED,
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
    optional(COUNT, "sessions are kept"),
    None,
    "how old sessions are that `prune` deletes",
    ("ARTIFACTS_RETENTION_DAYS",),
    guard=UNCHANGED,
)
ARTIFACTS_MAX_SIZE_GB: Setting[float | None] = Setting(
    "artifacts.max_size_gb",
    optional(NUMBER, "no limit"),
    None,
    "how many GB all sessions may have; with more, nothing is collected",
    ("ARTIFACTS_MAX_SIZE_GB",),
    guard=UNCHANGED,
)

MASKING_PATTERNS: "Setting[tuple[UserPattern, ...]]" = Setting(
    "masking.patterns",
    SECRETS,
    (),
    "patterns of your own secrets, masked beside those that runcard knows",
    ("RUNCARD_MASKING_PATTERNS",),
    guard=SAFE,
    adds_up=True,
)

LIMITS_SIZE = Setting(
    "limits.size",
    SIZE,
    DEFAULT.size,
    "the largest document that is read",
    ("RUNCARD_LIMITS_SIZE",),
    guard=NOT_RAISED,
)
LIMITS_DEPTH = Setting(
    "limits.depth",
    COUNT,
    DEFAULT.depth,
    "how deep a document may be nested",
    ("RUNCARD_LIMITS_DEPTH",),
    guard=NOT_RAISED,
)
LIMITS_DIGITS = Setting(
    "limits.digits",
    COUNT,
    DEFAULT.digits,
    "how long an integer may be",
    ("RUNCARD_LIMITS_DIGITS",),
    guard=NOT_RAISED,
)
LIMITS_EXPANSION = Setting(
    "limits.expansion",
    COUNT,
    DEFAULT.expansion,
    "how many values the aliases of YAML may stand for",
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
    MASKING_PATTERNS,
    LIMITS_SIZE,
    LIMITS_DEPTH,
    LIMITS_DIGITS,
    LIMITS_EXPANSION,
)
