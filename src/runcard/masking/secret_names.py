"""Secret names: names whose values are secrets, such as `password`, and how sure that is.

A name is split into words, whatever its style: `DB_PASSWORD`, `db-password`, `dbPassword`, `db.password`. `secret_values`
checks the value.

Invariant: a name for a number of tokens, a kind of token or the location of a secret is not a secret name.
"""

from enum import IntEnum
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from runcard.masking.lazy_patterns import text_pattern
from runcard.masking.marks import MARK


class Strength(IntEnum):
    """How sure it is that the value of a name is a secret."""

    SOFT = 1  # perhaps: only random values
    HARD = 2  # almost: any value that is not a placeholder


class WordBefore(IntEnum):
    """Which word before a name makes it a stronger hint: `api` before `key`."""

    NO_EFFECT = 0
    SECRET_WORD = 1  # a word that `strengthens_name`
    ANY_WORD = 2


class NameHint(NamedTuple):
    """The strength of a secret name, and the rule for its value."""

    strength: Strength
    rule: str


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PASSWORDS = (
    *("password", "passwords", "passwd", "passphrase", "passcode", "pwd"),
    *("passwort", "kennwort", "wachtwoord", "lozinka", "senha"),
)
_PASS_OF = word_set(
    "account admin auth basic become bind database db default ftp http keystore ldap login mail mongo mysql pg postgres "
    "proxy rabbitmq redis root smtp ssh sudo user wifi"
)
_VENDORS = word_set(
    "airtable algolia anthropic asana atlassian aws azure bitbucket cf circleci claude cloudflare codecov cohere "
    "databricks datadog dd deepseek digitalocean discord doppler dropbox elastic elevenlabs exa fastly figma firecrawl "
    "fireworks fly gemini gh github gitlab google grafana groq hcloud heroku hf honeycomb hub hubspot huggingface jira "
    "langfuse langsmith launchdarkly linear linode mailchimp mailgun mistral neon netlify newrelic notion npm nvidia okta "
    "openai openrouter pagerduty perplexity pinecone plaid planetscale posthog postman postmark pulumi pypi qdrant railway "
    "render replicate resend scaleway scw sendgrid sentry serper shopify slack snyk sonar stripe supabase tailscale tavily "
    "telegram terraform together turso twilio typeform upstash vault vercel voyage vultr wandb xai zendesk"
)
_KEY_OF = _VENDORS | word_set(
    "access account admin aes api app application auth cipher client consumer crypto deploy encryption fernet hmac ingest "
    "insert jwt license master private role secret service session shared signing subscription webhook write"
)
_TOKEN_OF = _VENDORS | word_set(
    "access api auth authentication bearer bot ci csrf deploy id identity jwt oauth personal push refresh "
    "registry reset secret security session user xsrf"
)
_HARD_ENDS = (  # a name may also be one word: `dbpassword`, `apikey`, `authtoken`
    *_PASSWORDS,
    *("secret", "secrets", "credential", "credentials", "authorization", "connectionstring", "requirepass"),
    *("apikey", "apikeys", "accesskey", "accountkey", "privatekey", "secretkey", "sessionkey", "signingkey"),
    *("accesstoken", "apitoken", "authtoken", "bearertoken", "oauthtoken", "refreshtoken", "sessiontoken"),
)
_HARD_WORDS = frozenset({"pw", "dsn", "passe"})
_SOFT = frozenset({"auth", "cookie", "cookies", "bearer", "jwt"})
# A hint anywhere in a name.
_ANYWHERE = (*_PASSWORDS, "secret", "secrets", "credential", "credentials", "apikey", "privatekey")

# One of these is in every pair of words that names a secret.
_IN_PAIRS = _KEY_OF | _TOKEN_OF | _PASS_OF | word_set("key keys token tokens pass connection string")

_WITHIN = "|".join((*_ANYWHERE, "key", "token", "pass", "string"))
_SPLIT = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"

# Words at the end of a name that do not matter.
_TRAILING = word_set(
    "b64 backup base64 base default dev development encoded enc hash hashed live main new old plain plaintext "
    "primary prod production qa raw secondary staging stg str test text value"
)
# At the end of a name: the value describes a secret, and is not one.
_HARMLESS = word_set(
    "age alg algorithm allowed arn at attempts available budget bytes callback chars class column command cost "
    "count counter counts date days deprecated description desc dim dir directory disabled domain embedding "
    "embeddings enabled endpoint entropy env error errors estimate estimated exists expected expired expires "
    "expiration expiry expression fd field file fingerprint folder format found func function generator handler header help "
    "hint host hostname hours id ids index input interval invalid issuer kind label len length level limit limits location lookup "
    "manager mapping max message method min minutes missing mode name names number offset optional options params "
    "parser path pattern per placeholder policy port position prefix present price profile prompt provider rate ratio reader "
    "ref reference regex region required role rotation rule rules schema scheme scope scopes service set sha256 size "
    "sock source sources state status stdin storage store strategy strength suffix table time timeout timestamp title "
    "total ttl type types unit uri url usage used user username valid validation validity validator var variable version"
)
_HARMLESS_FIRST = frozenset({"no", "without", "disable", "skip", "use", "is", "has", "with", "public"})
# Words before `token` in language models, parsers and pagination.
_PLAIN_TOKENS = word_set(
    "a any audio bos cached cancellation change class cls completion continuation current cursor each end eos first "
    "idempotency image input keyword last lock mask max min n next num of output pad page pagination per prefix prev previous "
    "prompt punctuation reasoning request resume sep special start starting stop string suffix sync text the thinking this total "
    "unk unknown update vision word"
)
_RULE_BY_WORD = {
    "authorization": "authorization",
    "cookie": "cookie",
    "cookies": "cookie",
    "aws": "aws-secret-key",
    "accountkey": "azure-key",
    "azure": "azure-key",
    "cohere": "cohere-key",
    "mistral": "mistral-key",
    "twilio": "twilio-key",
}
_RULE_BY_END = {
    ("co", "api", "key"): "cohere-key",
    ("secret", "access", "key"): "aws-secret-key",
    ("shared", "access", "key"): "azure-key",
    ("account", "key"): "azure-key",
}


@lru_cache(maxsize=4096)
def name_hint(name: str) -> NameHint | None:
    """The hint in a name; None for a name that is not a secret name. A mark never is."""
    if MARK in name:
        return None
    words = _words_of(name)
    if not words or words[-1] in _HARMLESS or words[0] in _HARMLESS_FIRST:
        return None
    strength = _strength(words)
    return NameHint(strength, _rule(words)) if strength else None


@lru_cache(maxsize=4096)
def word_before(name: str) -> WordBefore:
    """Which word before a name matters. It becomes the first word of the name, if that is a stronger hint."""
    hint, words = name_hint(name), _words_of(name)
    if not words or words[-1] in _HARMLESS or (hint and hint.strength is Strength.HARD):
        return WordBefore.NO_EFFECT
    is_no_longer_first = words[0] in _HARMLESS_FIRST and _strength(words) is not None
    return WordBefore.ANY_WORD if is_no_longer_first or words == ["pat"] else WordBefore.SECRET_WORD


def strengthens_name(word: str) -> bool:
    """Whether a word before a name might make it a stronger hint."""
    if text_pattern(_WITHIN).search(word.lower()):
        return True
    return not word[-1:].isdigit() and not _IN_PAIRS.isdisjoint(_split(word))


def _words_of(name: str) -> list[str]:
    """The words of a name, without those at its end that do not matter."""
    words = _split(name)
    while len(words) > 1 and (words[-1].isdigit() or words[-1] in _TRAILING):
        words.pop()
    return words


def _split(name: str) -> list[str]:
    return [word.lower() for word in text_pattern(_SPLIT).findall(name)]


def names_token(name: str) -> bool:
    """Whether a name is the secret name of a token: `token`, `service_token`."""
    return name.lower().endswith("token") and name_hint(name) is not None


def expects_secret(name: str) -> NameHint | None:
    """The hint in a name under which even a number is a secret: one password or key, because plurals are counts."""
    hint = name_hint(name)
    is_singular = (
        hint is not None and hint.strength is Strength.HARD and not name.lower().endswith(("s", "token"))
    )
    return hint if is_singular else None


def _strength(words: list[str]) -> Strength | None:
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last.endswith(_HARD_ENDS) or last in _HARD_WORDS or _is_pair(before, last):
        return Strength.HARD
    if last == "pat" and before:  # GITHUB_PAT
        return Strength.SOFT
    if last.endswith("token"):
        return None if before in _PLAIN_TOKENS else Strength.SOFT
    inside = any(word.endswith(_ANYWHERE) for word in words)
    inside = inside or any(_is_pair(*pair) or _is_pair(*reversed(pair)) for pair in pairwise(words))
    return Strength.SOFT if last in _SOFT or inside else None


def _is_pair(first: str, second: str) -> bool:
    """Whether two words together name a secret: `api key`, `access token`, `connection string`, `db pass`."""
    if second in {"key", "keys"}:
        return first in _KEY_OF
    if second in {"token", "tokens"}:
        return first in _TOKEN_OF
    if second == "pass":
        return first in _PASS_OF or not first
    return (first, second) == ("connection", "string")


def _rule(words: list[str]) -> str:
    if any(word.endswith((*_PASSWORDS, "pass", "passe", "pw")) for word in words):
        return "password"
    for end, rule in _RULE_BY_END.items():
        if tuple(words[-len(end) :]) == end:
            return rule
    return next((_RULE_BY_WORD[word] for word in words if word in _RULE_BY_WORD), "named-secret")
