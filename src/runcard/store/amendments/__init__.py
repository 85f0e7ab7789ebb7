"""Amendments: the only way in which a closed record changes."""
