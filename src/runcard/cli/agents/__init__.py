"""The commands that set up agent tools."""
