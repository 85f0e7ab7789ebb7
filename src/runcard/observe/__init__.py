"""Where facts come from: the clock, ids, the process, its environment, and the inputs of a run.

Everything here looks at the world and says what it saw; nothing here writes a record. What cannot be observed is None,
and an odd world is no error.

Import the modules themselves (`runcard.observe.clock` and so on): each costs only what it needs.
"""
