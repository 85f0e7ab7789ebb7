"""Commands on the catalog."""
