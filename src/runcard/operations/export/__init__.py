"""Writing records in the formats of other tools."""
