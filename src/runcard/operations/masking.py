"""The user's own patterns of secrets: from the settings into masking, before an operation masks anything."""

from runcard.masking import use_patterns
from runcard.settings import MASKING_PATTERNS, Settings, read_settings


def use_masking_settings(settings: Settings | None = None) -> None:
    """Mask by the patterns in `settings` as well, or in those of this directory; raises SettingsError for a bad one."""
    patterns = (settings or read_settings())[MASKING_PATTERNS]
    use_patterns(patterns)
