"""What a record says. Pure: no files, no clock, no network.

`reader` is the way in; a module for each kind of document holds its model and its rules; `schemas/` the published schemas.
"""
