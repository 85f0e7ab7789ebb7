"""The generation document of a run, and how its events become it."""
