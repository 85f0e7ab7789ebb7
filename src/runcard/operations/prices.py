"""The prices that count in a directory: those of the file that the settings name, before the packaged ones."""

import os

from runcard.accounting import Prices
from runcard.settings import PRICES, read_settings


def configured_prices(directory: str = ".") -> Prices:
    """Raises an error that says what is wrong with the settings, or with the file they name."""
    path = read_settings(directory=directory)[PRICES]
    return Prices.packaged() if path is None else Prices.with_file(os.path.join(directory, path))
