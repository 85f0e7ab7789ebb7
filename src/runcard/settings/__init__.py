"""Settings, and where each value comes from: an option, the environment, the project's file, the user's, or the default.

    definitions  the table of settings: key, type, default, environment variable, option; add a setting here
    value_types  the types of values, and how they are parsed
    lookup       `read_settings`: the value of a setting, and its origin
    files        `runcard.toml`, `pyproject.toml` and the user's file
    guards       what a project's file may not set unless the user trusts it
    trust        the list of trusted files
    apply        passing settings to masking and prices

A value is parsed on access, so a command never fails because of a setting that it does not use. An error names the origin,
the value, what is allowed and what to do. Nothing here reads records.
"""

from runcard.settings.definitions import (
    ALL,
    ARTIFACTS_COMPRESS,
    ARTIFACTS_DIR,
    ARTIFACTS_DIRECTORY_MODE,
    ARTIFACTS_ENABLED,
    ARTIFACTS_EXCLUDE_PATTERNS,
    ARTIFACTS_FILE_MODE,
    ARTIFACTS_GITIGNORE,
    ARTIFACTS_MASK_WORKSPACES,
    ARTIFACTS_MAX_FILE_SIZE,
    ARTIFACTS_MAX_SIZE,
    ARTIFACTS_MAX_SIZE_GB,
    ARTIFACTS_METADATA_ONLY,
    ARTIFACTS_NO_TRANSCRIPTS,
    ARTIFACTS_PATTERNS,
    ARTIFACTS_RETENTION_DAYS,
    ARTIFACTS_SPECS,
    ARTIFACTS_TIMEOUT,
    CATALOG,
    LIMITS_DEPTH,
    LIMITS_DIGITS,
    LIMITS_EXPANSION,
    LIMITS_SIZE,
    MASKING_PATTERNS,
    OUTPUTS,
    PRICES,
    Setting,
)
from runcard.settings.lookup import (
    Origin,
    Settings,
    SettingsError,
    SettingValue,
    read_settings,
    take_unreported,
)

__all__ = [
    "ALL",
    "ARTIFACTS_COMPRESS",
    "ARTIFACTS_DIR",
    "ARTIFACTS_DIRECTORY_MODE",
    "ARTIFACTS_ENABLED",
    "ARTIFACTS_EXCLUDE_PATTERNS",
    "ARTIFACTS_FILE_MODE",
    "ARTIFACTS_GITIGNORE",
    "ARTIFACTS_MASK_WORKSPACES",
    "ARTIFACTS_MAX_FILE_SIZE",
    "ARTIFACTS_MAX_SIZE",
    "ARTIFACTS_MAX_SIZE_GB",
    "ARTIFACTS_METADATA_ONLY",
    "ARTIFACTS_NO_TRANSCRIPTS",
    "ARTIFACTS_PATTERNS",
    "ARTIFACTS_RETENTION_DAYS",
    "ARTIFACTS_SPECS",
    "ARTIFACTS_TIMEOUT",
    "CATALOG",
    "LIMITS_DEPTH",
    "LIMITS_DIGITS",
    "LIMITS_EXPANSION",
    "LIMITS_SIZE",
    "MASKING_PATTERNS",
    "OUTPUTS",
    "PRICES",
    "Origin",
    "Setting",
    "SettingValue",
    "Settings",
    "SettingsError",
    "read_settings",
    "take_unreported",
]
