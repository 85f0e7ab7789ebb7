"""JSON: strict reading with positions, writing, canonical form, editing in place."""
