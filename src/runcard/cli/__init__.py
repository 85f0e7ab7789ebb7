"""The command line: parse, call one operation, print its result. A file for each command, in the folder of its subject.

Only this package prints or exits. `commands` is the table of all commands, `main` the entry point, `app` the root
command and the handling of errors, `batch` the loop over several records.
"""
