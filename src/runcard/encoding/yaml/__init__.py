"""YAML ⇄ plain data: parsed strictly and with positions, written for every reader, edited in place.

libyaml splits the text, as in Ruby, Python and most others; plain scalars follow YAML 1.2, so `yes` and `2026-11-15` are
text. `yaml_1_1_type` tells what readers of YAML 1.1 make of a plain scalar; the writer quotes whatever they misread.

Not imported by `runcard.encoding` itself: most commands never see YAML.

Invariants: `decode_yaml(encode_yaml(x)) == x`; `edit_yaml` changes only what differs; no function recurses as deep as its
input is nested, and no alias costs more than the limit.
"""

from runcard.encoding.yaml.edit import edit_yaml
from runcard.encoding.yaml.positions import YamlPosition, locate_yaml
from runcard.encoding.yaml.reader import decode_yaml
from runcard.encoding.yaml.scalars import plain_value, yaml_1_1_type
from runcard.encoding.yaml.simple_text import is_simple
from runcard.encoding.yaml.writer import encode_yaml

__all__ = [
    "YamlPosition",
    "decode_yaml",
    "edit_yaml",
    "encode_yaml",
    "is_simple",
    "locate_yaml",
    "plain_value",
    "yaml_1_1_type",
]
