"""How each vendor writes usage: a module for each, which knows its fields and what they include.

A module tells by `is_reply` and `is_usage` whether something has its shape, and reads it with `read`.
"""
