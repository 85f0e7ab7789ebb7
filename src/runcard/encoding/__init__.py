"""Bytes ⇄ plain data (dict, list, str, int, float, bool, None), strictly and with positions.

What JSON parsers usually let pass is refused here: duplicate keys, NaN and Infinity, numbers beyond a float, lone
surrogates, nesting and sizes beyond the limits. Every refusal says where. Nothing here knows what a document means.

Invariants: `decode_json(encode_json(x)) == x`; no input makes these functions recurse as deep as the input is nested.
Changing a text only where it must is a module of its own, `edit`: few commands rewrite documents.
"""

from runcard.encoding.json.canonical import both_forms, canonical_json
from runcard.encoding.json.positions import Position, join_pointer, locate
from runcard.encoding.json.reader import BOM, as_text, decode_json
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
    "encode_json",
    "join_pointer",
    "locate",
]
