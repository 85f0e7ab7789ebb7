"""Commands that change closed records: amend, redact, migrate."""
