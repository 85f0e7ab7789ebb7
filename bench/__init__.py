"""The speed of runcard beside that of other programs; `run` measures all parts."""
