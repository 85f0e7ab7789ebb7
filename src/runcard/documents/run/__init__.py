"""The generation document of a run, and the fold that makes it of the events."""
