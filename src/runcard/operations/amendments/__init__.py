"""Changing closed records: amend, redact, migrate."""
