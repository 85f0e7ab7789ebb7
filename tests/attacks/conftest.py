"""A place for runs that is quick to write to."""

from recording.conftest import place

__all__ = ["place"]
