"""The rules: which secrets are known, and the prefixes by which most of them give themselves away.

Facts only: how a vendor's keys begin and what they are made of. How they are found in a text is the business of
`prefixes.py`; the rules without a prefix (names, headers, addresses, key blocks) have modules of their own.

Invariant: a rule that is not in `RULES` masks nothing. Where two rules see the same secret, the upper one names it.
"""

from typing import NamedTuple

RULES: dict[str, str] = {
    "private-key": "a private key block, `-----BEGIN … PRIVATE KEY-----`, whole, cut off, or on one line with `\\n`",
    "anthropic-key": "`sk-ant-…`",
    "openrouter-key": "`sk-or-…`",
    "langfuse-key": "`sk-lf-…`",
    "openai-key": "`sk-…`, `sk-proj-…`, `sk-svcacct-…`, `sk-admin-…`, and the vendors that copied the form",
    "groq-key": "`gsk_…`",
    "perplexity-key": "`pplx-…`",
    "xai-key": "`xai-…`",
    "huggingface-token": "`hf_…`",
    "replicate-token": "`r8_…`",
    "nvidia-key": "`nvapi-…`",
    "langsmith-key": "`lsv2_pt_…`, `lsv2_sk_…`",
    "tavily-key": "`tvly-…`",
    "google-api-key": "`AIza…`",
    "google-oauth": "`ya29.…`, `GOCSPX-…`",
    "aws-access-key": "`AKIA…`, `ASIA…` and their kin, with 16 more characters",
    "aws-secret-key": "what stands under a name such as `AWS_SECRET_ACCESS_KEY`",
    "azure-key": "what stands under `AccountKey`, `SharedAccessKey`, `AZURE_…_KEY`; `sig=` of a signed address",
    "github-token": "`ghp_…`, `gho_…`, `ghu_…`, `ghs_…`, `ghr_…`, `github_pat_…`",
    "gitlab-token": "`glpat-…`, `gldt-…`, `glrt-…`, `glcbt-…`, `glptt-…`",
    "slack-token": "`xoxb-…`, `xoxp-…` and their kin, `xapp-…`",
    "slack-webhook": "what follows `hooks.slack.com/services/`",
    "stripe-key": "`sk_live_…`, `rk_live_…`, `sk_test_…`, `rk_test_…`",
    "npm-token": "`npm_…`",
    "pypi-token": "`pypi-…`",
    "docker-token": "`dckr_pat_…`",
    "digitalocean-token": "`dop_v1_…`, `doo_v1_…`, `dor_v1_…`",
    "databricks-token": "`dapi…`",
    "vault-token": "`hvs.…`",
    "age-key": "`AGE-SECRET-KEY-1…`",
    "sendgrid-key": "`SG.….…`",
    "telegram-token": "a bot's `<number>:AA…`",
    "twilio-key": "what stands under a name with `twilio` in it",
    "cohere-key": "what stands under a name with `cohere` in it, or `CO_API_KEY`",
    "mistral-key": "what stands under a name with `mistral` in it",
    "bearer-token": "`Authorization: Bearer …`, and `Bearer …` elsewhere when it looks random",
    "basic-auth": "`Authorization: Basic …`, `curl -u user:…`",
    "authorization": "any other `Authorization:` header",
    "cookie": "`Cookie:` and `Set-Cookie:`",
    "jwt": "three parts of base64 that begin `eyJ`",
    "url-password": "`scheme://user:…@host`",
    "password": "what stands under password, passwd, pwd, passphrase, passcode",
    "named-secret": "what stands under any other telling name: api key, secret, token, credential, …",
}


class Prefix(NamedTuple):
    """A literal that a rule's secrets begin with, and what must follow it."""

    rule: str
    literal: str
    body: str  # a pattern of bounded length: what must follow for the rule to be sure
    more: str = ""  # the characters that then belong to the secret as well, however many
    edge: str = "A-Za-z0-9"  # the characters that must not stand before it
    keep: int = 0  # so many characters of the literal are no secret and stay


_ALNUM = "A-Za-z0-9"
_WORD = "A-Za-z0-9_-"
_END = "(?![A-Za-z0-9])"

# Where one literal begins like another the longer stands first.
PREFIXES = (
    Prefix("anthropic-key", "sk-ant-", f"[{_WORD}]{{16}}", _WORD),
    Prefix("openrouter-key", "sk-or-", f"[{_WORD}]{{20}}", _WORD),
    Prefix("langfuse-key", "sk-lf-", "[0-9a-f-]{32}", _WORD),
    Prefix(
        "openai-key", "sk-", f"(?:[{_ALNUM}]{{20}}|(?:proj|svcacct|admin)-[{_WORD}]{{20}})", _WORD, edge=_WORD
    ),
    Prefix("groq-key", "gsk_", f"[{_ALNUM}]{{32}}", _WORD),
    Prefix("perplexity-key", "pplx-", f"[{_ALNUM}]{{32}}", _WORD),
    Prefix("xai-key", "xai-", f"[{_ALNUM}]{{40}}", _WORD),
    Prefix("huggingface-token", "hf_", f"[{_ALNUM}]{{30}}", _WORD, edge=_WORD),
    Prefix("replicate-token", "r8_", f"[{_ALNUM}]{{30}}", _WORD, edge=_WORD),
    Prefix("nvidia-key", "nvapi-", f"[{_WORD}]{{32}}", _WORD),
    Prefix("langsmith-key", "lsv2_", f"(?:pt|sk)_[{_ALNUM}]{{24}}", _WORD),
    Prefix("tavily-key", "tvly-", f"(?:dev-|prod-)?[{_ALNUM}]{{20}}", _WORD),
    Prefix("google-api-key", "AIza", f"[{_WORD}]{{30}}", _WORD, edge="A-Za-z0-9_+/-"),
    Prefix("google-oauth", "ya29.", f"[{_WORD}]{{20}}", _WORD),
    Prefix("google-oauth", "GOCSPX-", f"[{_WORD}]{{20}}", _WORD),
    Prefix("aws-access-key", "AKIA", f"[A-Z0-9]{{16}}{_END}"),
    Prefix("aws-access-key", "ASIA", f"[A-Z0-9]{{16}}{_END}"),
    Prefix("aws-access-key", "ABIA", f"[A-Z0-9]{{16}}{_END}"),
    Prefix("aws-access-key", "ACCA", f"[A-Z0-9]{{16}}{_END}"),
    Prefix("azure-key", "sig=", f"[{_ALNUM}%+/]{{40}}", f"{_ALNUM}%+/=", edge="^?&", keep=4),
    Prefix("github-token", "github_pat_", f"[{_ALNUM}_]{{22}}", f"{_ALNUM}_"),
    Prefix("github-token", "gh", f"[pousr]_[{_ALNUM}]{{30}}", f"{_ALNUM}_"),
    Prefix("gitlab-token", "gl", f"(?:pat|dt|rt|cbt|ptt)-[{_WORD}]{{20}}", f".{_WORD}"),
    Prefix("slack-token", "xox", f"[abcdeoprs](?:\\.xox[a-z])?-[{_ALNUM}-]{{16}}", f"{_ALNUM}-"),
    Prefix("slack-token", "xapp-", f"[0-9]-[{_ALNUM}-]{{20}}", f"{_ALNUM}-"),
    Prefix("slack-webhook", "hooks.slack.com/services/", f"[{_ALNUM}/]{{20}}", f"{_ALNUM}/", keep=25),
    Prefix("stripe-key", "sk_live_", f"[{_ALNUM}]{{16}}", _ALNUM),
    Prefix("stripe-key", "rk_live_", f"[{_ALNUM}]{{16}}", _ALNUM),
    Prefix("stripe-key", "sk_test_", f"[{_ALNUM}]{{16}}", _ALNUM),
    Prefix("stripe-key", "rk_test_", f"[{_ALNUM}]{{16}}", _ALNUM),
    Prefix("npm-token", "npm_", f"[{_ALNUM}]{{30}}", _ALNUM),
    Prefix("pypi-token", "pypi-", f"(?:AgE[{_WORD}]{{16}}|[{_ALNUM}]{{40}})", _WORD),
    Prefix("docker-token", "dckr_pat_", f"[{_WORD}]{{20}}", _WORD),
    Prefix("digitalocean-token", "dop_v1_", "[0-9a-f]{40}", _ALNUM),
    Prefix("digitalocean-token", "doo_v1_", "[0-9a-f]{40}", _ALNUM),
    Prefix("digitalocean-token", "dor_v1_", "[0-9a-f]{40}", _ALNUM),
    Prefix("databricks-token", "dapi", f"[0-9a-f]{{32}}(?:-[0-9])?{_END}", edge=_WORD),
    Prefix("vault-token", "hvs.", f"[{_WORD}]{{24}}", _WORD),
    Prefix("age-key", "AGE-SECRET-KEY-1", "[0-9A-Z]{40}", "0-9A-Z"),
    Prefix("sendgrid-key", "SG.", f"[{_WORD}]{{16,32}}+\\.[{_WORD}]{{24}}", _WORD),
    Prefix("telegram-token", ":AA", f"[{_WORD}]{{32,33}}(?![{_WORD}])", edge="^0-9", keep=1),
    Prefix("jwt", "eyJ", f"[{_WORD}]{{7,2000}}+\\.eyJ[{_WORD}]{{8}}", f".{_WORD}", edge="A-Za-z0-9_+/-"),
)
