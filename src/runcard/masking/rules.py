"""All rules of masking: which there are, in which order they name a secret, and the literals that most are found by.

The vendors' rows are in `vendors.py`; the rules that are not about one vendor (names, headers, addresses, key blocks) have
modules of their own.

Invariant: a rule that is not in `RULES`, nor one of the user's own, masks nothing. Where two rules see the same secret, the
upper one names it.
"""

from typing import NamedTuple

from runcard.masking.vendor_keys import VENDORS, KeyFormat

RULES: dict[str, str] = {
    "private-key": (
        "a private key block, `-----BEGIN … PRIVATE KEY-----` or `PuTTY-User-Key-File-…`, whole, cut off, or on one line "
        "with `\\n`; a block in base64, `LS0tLS1CRUdJTi…`"
    ),
    **{vendor.rule: vendor.masks for vendor in VENDORS},
    "bearer-token": "`Authorization: Bearer …`, and `Bearer …` elsewhere when it looks random",
    "basic-auth": "`Authorization: Basic …`, `curl -u user:…`",
    "authorization": "any other `Authorization:` header",
    "cookie": "`Cookie:` and `Set-Cookie:`",
    "jwt": "three parts of base64 that begin `eyJ`",
    "url-password": "`scheme://user:…@host`",
    "password": "what stands under password, passwd, pwd, pw, passphrase, passcode, passwort",
    "named-secret": "what stands under any other secret name: api key, secret, token, credential, …",
}


class KeyPrefix(NamedTuple):
    """A form of a vendor's secrets with the rule that it belongs to; the fields are those of `KeyFormat`."""

    rule: str
    literal: str
    body: str
    more: str = ""
    edge: str = "A-Za-z0-9"
    keep: int = 0
    before: tuple[str, ...] = ()


_JWT = KeyFormat("eyJ", "[A-Za-z0-9_-]{7,1000}+\\.eyJ[A-Za-z0-9_-]{8}", ".A-Za-z0-9_-", edge="A-Za-z0-9_+/-")

# Every form, the longer literal first where one begins like another.
KEY_PREFIXES: tuple[KeyPrefix, ...] = (
    *(KeyPrefix(vendor.rule, *form) for vendor in VENDORS for form in vendor.forms),
    KeyPrefix("jwt", *_JWT),
)
