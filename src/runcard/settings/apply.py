"""Apply settings to other packages: masking patterns, the price file and the key to sign with."""

import os
from typing import TYPE_CHECKING, NamedTuple

from runcard.settings.definitions import MASKING_PATTERNS, PRICES, SIGN, SIGNING_KEY
from runcard.settings.lookup import Settings, read_settings

if TYPE_CHECKING:
    from runcard.accounting import Prices


class SigningSettings(NamedTuple):
    """What a record is signed with when it is closed."""

    key: str | None  # an absolute path: the program may change its directory; None if no key was named


def signing_settings(settings: Settings) -> SigningSettings | None:
    """What records are signed with at closing; None if they are not signed."""
    if not settings[SIGN]:
        return None
    key = settings[SIGNING_KEY]
    return SigningSettings(None if key is None else os.path.abspath(key))


def use_masking_settings(settings: Settings | None = None) -> None:
    """Add the user's secret patterns to masking: from `settings`, or from those of the current directory.

    Raises SettingsError for an invalid pattern.
    """
    from runcard.masking import use_patterns  # noqa: PLC0415 - long to load

    patterns = (settings or read_settings())[MASKING_PATTERNS]
    use_patterns(patterns)


def configured_prices(directory: str = ".") -> "Prices":
    """The packaged prices, overridden by the price file that the settings of `directory` name.

    Raises an error that says what is wrong with the settings or with the file.
    """
    from runcard.accounting import Prices  # noqa: PLC0415 - long to load

    path = read_settings(directory=directory)[PRICES]
    return Prices.packaged() if path is None else Prices.with_file(os.path.join(directory, path))
