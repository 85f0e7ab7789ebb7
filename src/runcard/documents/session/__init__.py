"""The documents of a session: team, instances, manifest, and its SPEC."""
