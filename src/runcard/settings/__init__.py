"""Settings, and where each value comes from: an option, the environment, the project's file, the user's, or the default.

A value is looked at when somebody asks for it, so a command never stumbles over a setting that it does not use. What is
wrong is an error that names the place, the value, what is allowed and what to do. Nothing here reads records.
"""

from runcard.settings.known import (
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
    LIMITS_DEPTH,
    LIMITS_DIGITS,
    LIMITS_EXPANSION,
    LIMITS_SIZE,
    OUTPUTS,
    PRICES,
    Setting,
)
from runcard.settings.reading import Found, Origin, Settings, SettingsError, read_settings, take_unreported

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
    "LIMITS_DEPTH",
    "LIMITS_DIGITS",
    "LIMITS_EXPANSION",
    "LIMITS_SIZE",
    "OUTPUTS",
    "PRICES",
    "Found",
    "Origin",
    "Setting",
    "Settings",
    "SettingsError",
    "read_settings",
    "take_unreported",
]
