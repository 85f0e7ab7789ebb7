"""A place for runs that is quick to write to."""

from runs.conftest import place

__all__ = ["place"]
