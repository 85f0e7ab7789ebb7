"""The settings there are: their names, their defaults, and the names they go by in the environment."""

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from runcard.encoding.limits import DEFAULT
from runcard.settings.forms import BOOL, COUNT, MODE, NUMBER, PATH, PATTERNS, SECRETS, SIZE, Form, optional

if TYPE_CHECKING:
    from runcard.redaction import OwnPattern

T = TypeVar("T")

GIBIBYTE = 1024**3


class Setting(Generic[T]):
    """One thing that can be set. A plain class: to make a dataclass takes as long as all the rest here."""

    __slots__ = ("about", "default", "form", "key", "option", "use", "variables")

    def __init__(
        self,
        key: str,  # in a file; the dots stand for tables
        form: Form[T],
        default: T,
        about: str,
        variables: tuple[str, ...] = (),  # the first one that is set counts
        option: str | None = None,  # of the commands that have it
        *,
        use: str | None = None,  # what a path must be good for: to "write" below it, or to "read" it
    ) -> None:
        self.key, self.form, self.default, self.about = key, form, default, about
        self.variables, self.option, self.use = variables, option, use


OUTPUTS = Setting("outputs", PATH, "outputs", "where runs go", ("RUNCARD_OUTPUTS",), "--outputs", use="write")
PRICES = Setting(
    "prices",
    optional(PATH, "only the prices that came with runcard"),
    None,
    "a price file of your own, asked before the packaged one",
    ("RUNCARD_PRICES",),
    use="read",
)

ARTIFACTS_DIR = Setting(
    "artifacts.dir",
    PATH,
    "artifacts",
    "where sessions go",
    ("ARTIFACTS_DIR",),
    "--artifacts",
    use="write",
)
ARTIFACTS_ENABLED = Setting(
    "artifacts.enabled", BOOL, True, "collect sessions at all", ("ARTIFACTS_ENABLED", "PRESERVE_ARTIFACTS")
)
ARTIFACTS_PATTERNS: Setting[tuple[str, ...]] = Setting(
    "artifacts.patterns",
    PATTERNS,
    (),
    "what to copy of workspaces; nothing said means everything",
    ("ARTIFACTS_PATTERNS", "ARTIFACT_PATTERNS"),
    "--include",
)
ARTIFACTS_EXCLUDE_PATTERNS: Setting[tuple[str, ...]] = Setting(
    "artifacts.exclude_patterns",
    PATTERNS,
    (),
    "what not to copy, beside what is never copied",
    ("ARTIFACTS_EXCLUDE_PATTERNS",),
    "--exclude",
)
ARTIFACTS_GITIGNORE = Setting(
    "artifacts.gitignore",
    BOOL,
    False,
    "respect .gitignore in workspaces",
    ("RUNCARD_GITIGNORE",),
    "--gitignore",
)
ARTIFACTS_METADATA_ONLY = Setting(
    "artifacts.metadata_only",
    BOOL,
    False,
    "copy no workspaces and no transcripts",
    ("ARTIFACTS_COPY_METADATA_ONLY",),
    "--metadata-only",
)
ARTIFACTS_NO_TRANSCRIPTS = Setting(
    "artifacts.no_transcripts",
    BOOL,
    False,
    "copy no transcripts",
    ("RUNCARD_NO_TRANSCRIPTS",),
    "--no-transcripts",
)
ARTIFACTS_MASK_WORKSPACES = Setting(
    "artifacts.mask_workspaces",
    BOOL,
    False,
    "mask secrets in text files of workspaces too",
    ("RUNCARD_MASK_WORKSPACES",),
    "--mask-workspaces",
)
ARTIFACTS_MAX_FILE_SIZE: Setting[int | None] = Setting(
    "artifacts.max_file_size",
    optional(SIZE, "no limit"),
    4 * GIBIBYTE,
    "a larger file is not copied",
    ("RUNCARD_MAX_FILE_SIZE",),
    "--max-file-size",
)
ARTIFACTS_MAX_SIZE: Setting[int | None] = Setting(
    "artifacts.max_size",
    optional(SIZE, "no limit"),
    100 * GIBIBYTE,
    "what one session may hold in all",
    ("RUNCARD_MAX_SIZE",),
    "--max-size",
)
ARTIFACTS_DIRECTORY_MODE = Setting(
    "artifacts.directory_mode",
    MODE,
    0o700,
    "permissions of a session's directories",
    ("RUNCARD_DIRECTORY_MODE",),
)
ARTIFACTS_FILE_MODE = Setting(
    "artifacts.file_mode", MODE, 0o600, "permissions of a session's files", ("RUNCARD_FILE_MODE",)
)

ARTIFACTS_COMPRESS = Setting(
    "artifacts.compress", BOOL, False, "archive a session right after collecting it", ("ARTIFACTS_COMPRESS",)
)
ARTIFACTS_RETENTION_DAYS: Setting[int | None] = Setting(
    "artifacts.retention_days",
    optional(COUNT, "sessions are kept"),
    None,
    "how old sessions are that `prune` deletes",
    ("ARTIFACTS_RETENTION_DAYS",),
)
ARTIFACTS_MAX_SIZE_GB: Setting[float | None] = Setting(
    "artifacts.max_size_gb",
    optional(NUMBER, "no limit"),
    None,
    "how many GB all sessions may have; with more, nothing is collected",
    ("ARTIFACTS_MAX_SIZE_GB",),
)

MASKING_PATTERNS: "Setting[tuple[OwnPattern, ...]]" = Setting(
    "masking.patterns",
    SECRETS,
    (),
    "patterns of your own secrets, masked beside those that runcard knows",
    ("RUNCARD_MASKING_PATTERNS",),
)

LIMITS_SIZE = Setting(
    "limits.size", SIZE, DEFAULT.size, "the largest document that is read", ("RUNCARD_LIMITS_SIZE",)
)
LIMITS_DEPTH = Setting(
    "limits.depth", COUNT, DEFAULT.depth, "how deep a document may be nested", ("RUNCARD_LIMITS_DEPTH",)
)
LIMITS_DIGITS = Setting(
    "limits.digits", COUNT, DEFAULT.digits, "how long an integer may be", ("RUNCARD_LIMITS_DIGITS",)
)
LIMITS_EXPANSION = Setting(
    "limits.expansion",
    COUNT,
    DEFAULT.expansion,
    "how many values the aliases of YAML may stand for",
    ("RUNCARD_LIMITS_EXPANSION",),
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
