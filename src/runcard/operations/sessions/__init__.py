"""Collecting sessions."""
