"""Masking of secrets, before anything reaches the disk.

`mask_text` and `mask_bytes` for logs and messages, `Masker` for what comes in pieces, `mask_data` for configurations
and payloads, `mask_command` and `mask_environment` for processes. A secret becomes `[masked:<rule>]`; what was masked
is counted by rule, never shown. Which files are left out altogether is decided by those who collect them, and nothing
here asks anybody whether a key is real.

Invariants: masking what has been masked changes nothing; text without a secret comes back as it was; JSON stays JSON.
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
