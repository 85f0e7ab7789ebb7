"""Which stores a user means who names none."""

import os

from runcard.settings import ARTIFACTS_DIR, OUTPUTS, read_settings
from runcard.store import layout


def stores_at_hand() -> list[str]:
    """The stores that are searched: the current directory, the configured ones, and those of experiments."""
    settings = read_settings()
    stores = [os.curdir, settings[OUTPUTS], settings[ARTIFACTS_DIR], *layout.experiment_outputs()]
    return list({os.path.realpath(store): store for store in reversed(stores)}.values())[::-1]
