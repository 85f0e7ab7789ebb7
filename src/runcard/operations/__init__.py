"""One module for each thing a user can do. An operation returns what it did or found; it never prints."""
