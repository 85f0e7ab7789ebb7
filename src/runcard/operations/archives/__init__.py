"""Archiving records: archive, restore, extract, prune."""
