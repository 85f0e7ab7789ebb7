"""The command line: parse, call one operation, print its result. A file for each command.

Only here may anything print or exit. `main` is the door; it knows the help text by heart, because importing click alone
takes longer than everything that `runcard --help` has to do.
"""
