"""The page: records for people who would rather look than read, served to a browser on this machine.

Each view is a module: it asks operations, and gives what they return to a template. Nothing here writes, except the two
things that a button asks for: verifying a record changes nothing, and importing sessions stores them.
"""
