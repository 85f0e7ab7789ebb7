"""Reading usage from the replies of each vendor: one module per vendor, with its fields and what they include.

`is_reply` and `is_usage` of a module recognize its vendor's format, and `read` reads it. Streams are joined in `streams`
first. To add a vendor, write its module, list it in `read`, and add its events to `streams`.
"""
