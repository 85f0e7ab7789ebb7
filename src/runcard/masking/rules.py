"""All masking rules, in the order of precedence, and the prefixes of keys.

The rows of vendors are in `vendor_keys`; the other rules (names, headers, URLs, private keys) have their own modules.

Invariant: only rules in `RULES` and the user's own mask anything. Where two rules match the same secret, the upper one names it.
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
    "jwt": "three parts of base64 that start with `eyJ`",
    "url-password": "`scheme://user:…@host`",
    "password": "values under password, passwd, pwd, pw, passphrase, passcode, passwort",
    "named-secret": "values under any other secret name: api key, secret, token, credential, …",
}


class KeyPrefix(NamedTuple):
    """The format of a vendor's key and its rule; the other fields are those of `KeyFormat`."""

    rule: str
    literal: str
    body: str
    more: str = ""
    edge: str = "A-Za-z0-9"
    keep: int = 0
    before: tuple[str, ...] = ()


_JWT = KeyFormat("eyJ", "[A-Za-z0-9_-]{7,1000}+\\.eyJ[A-Za-z0-9_-]{8}", ".A-Za-z0-9_-", edge="A-Za-z0-9_+/-")

# Every format; where one prefix starts with another, the longer one first.
KEY_PREFIXES: tuple[KeyPrefix, ...] = (
    *(KeyPrefix(vendor.rule, *key_format) for vendor in VENDORS for key_format in vendor.formats),
    KeyPrefix("jwt", *_JWT),
)
