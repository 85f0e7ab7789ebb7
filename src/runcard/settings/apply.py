"""Apply settings to other packages: masking patterns and the price file."""

import os
from typing import TYPE_CHECKING

from runcard.settings.definitions import MASKING_PATTERNS, PRICES
from runcard.settings.lookup import Settings, read_settings

if TYPE_CHECKING:
    from runcard.accounting import Prices


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
