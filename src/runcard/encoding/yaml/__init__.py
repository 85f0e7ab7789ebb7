"""YAML ⇄ plain data: read strictly and with positions, written for every reader, edited in place.

Text is split as libyaml does it, which Ruby, Python and most others share; plain scalars are read by YAML 1.2, so that
`yes` and `2026-11-15` are text. What readers of YAML 1.1 take for something else is told by `reading_1_1`, and is
quoted in what is written here.

Not imported by `runcard.encoding` itself: most commands never see YAML.

Invariants: `decode_yaml(encode_yaml(x)) == x`; `edit_yaml` touches only what differs; no input makes these functions
recurse as deep as the input is nested, and no alias costs more than the limit.
"""

from runcard.encoding.yaml.edit import edit_yaml
from runcard.encoding.yaml.positions import YamlPosition, locate_yaml
from runcard.encoding.yaml.reader import decode_yaml
from runcard.encoding.yaml.scalars import reading_1_1
from runcard.encoding.yaml.writer import encode_yaml

__all__ = ["YamlPosition", "decode_yaml", "edit_yaml", "encode_yaml", "locate_yaml", "reading_1_1"]
