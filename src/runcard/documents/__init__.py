"""The documents of a record: models, rules, schemas, versions. Pure: no files, no clock, no network.

`reader` parses and checks documents of all kinds. Each kind has a module with its model and its rules; `schemas/` has the
published schemas.
"""
