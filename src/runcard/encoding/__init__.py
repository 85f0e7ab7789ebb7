"""Bytes ⇄ plain data (dict, list, str, int, float, bool, None), strictly and with positions.

Many JSON parsers accept duplicate keys, NaN and Infinity, numbers too large for a float, lone surrogates, and any nesting
and size. This one refuses them, and says where. Nothing here knows what a document means.

Invariants: `decode_json(encode_json(x)) == x`; no function recurses as deep as its input is nested.
Editing a text in place is in `edit`, which is not imported here: few commands rewrite documents.
"""

from runcard.encoding.json.canonical import both_forms, canonical_json
from runcard.encoding.json.positions import Position, join_pointer, locate
from runcard.encoding.json.reader import BOM, as_text, decode_json, decode_json_line
from runcard.encoding.json.types import JsonObject
from runcard.encoding.json.writer import COMPACT, encode_json
from runcard.encoding.limits import Limits

__all__ = [
    "BOM",
    "COMPACT",
    "JsonObject",
    "Limits",
    "Position",
    "as_text",
    "both_forms",
    "canonical_json",
    "decode_json",
    "decode_json_line",
    "encode_json",
    "join_pointer",
    "locate",
]
