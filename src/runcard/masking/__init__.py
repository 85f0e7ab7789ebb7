"""Masking of secrets, before anything is written to disk.

`mask_text` and `mask_bytes` are for logs and messages, `Masker` for streams, `mask_data` for configurations and payloads,
`mask_command` and `mask_environment` for processes. A secret becomes `[masked:<rule>]`; masked secrets are counted by rule,
never shown. No key is ever tried out.

    vendor_keys     the table of vendors' keys: add a vendor's prefix here
    rules           all rules and their order
    secret_names    names whose values are secrets: `password`, `api_key`
    secret_values   whether a value under such a name is a secret, a placeholder or a label
    value_checks    the same for many values with the same name and sign, fast
    user_patterns, pattern_safety   the user's own patterns, and which are allowed
    known_secrets   the secrets of a configuration, masked wherever they occur
    masker          text and streams, with these searches:
        prefix_search, assignments, http_headers, url_passwords, private_keys, command_text
    data, command_line, named_value   plain data, argument lists, a value with a known name
    secret_scanner  whether a file holds a secret, for those who leave out whole files
    matches, marks, value_spans, lazy_patterns   what these use

Invariants: masking twice changes nothing more; text without a secret stays the same; JSON stays JSON.
"""

from runcard.masking.command_line import mask_command
from runcard.masking.data import mask_data, mask_environment
from runcard.masking.marks import Masked
from runcard.masking.masker import Masker, mask_bytes, mask_text
from runcard.masking.rules import RULES
from runcard.masking.user_patterns import UserPattern, rule_names, use_patterns

__all__ = [
    "RULES",
    "Masked",
    "Masker",
    "UserPattern",
    "mask_bytes",
    "mask_command",
    "mask_data",
    "mask_environment",
    "mask_text",
    "rule_names",
    "use_patterns",
]
