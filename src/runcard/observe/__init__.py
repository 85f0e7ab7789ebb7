"""Observing facts: the clock, the process, its environment, the inputs of a run, the calls of vendors' clients.

Nothing here writes a record. What cannot be observed is None, and an unusual machine is not an error.

    environment, user_and_host versions, timezone, user and host; each fact of a run's environment is a row in `environment`
    container, git, lockfiles, packages, timezone   facts with their own module
    process, process_tree     this process; a command and all processes that it started
    inputs, input_patterns, input_tokens   input files: finding, hashing, counting their tokens
    clients                   watching the clients of vendors' libraries
    clock, ids                time and unique ids
    background_thread, paths  what these use

Import the modules themselves (`runcard.observe.clock` and so on): each costs only what it needs.
"""
