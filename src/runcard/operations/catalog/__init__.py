"""Finding records: the operations on the catalog."""
