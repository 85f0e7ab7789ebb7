"""Reading usage from the replies of each vendor: one module per vendor or tool, with its fields and what they include.

`is_reply` and `is_usage` of a module recognize its format, `USAGE` names the fields of a reply that hold the usage, `read` reads it, and
`KNOWN` lists the fields of the usage: a count with another name is not ignored (`known_fields`). Streams are joined in `streams`
first. To add a vendor, write its module, list it in `read`, and add its events to `streams`.
"""
