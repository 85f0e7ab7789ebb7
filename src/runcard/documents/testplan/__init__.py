"""The test plan document."""
