"""The table of vendors' keys and tokens: their prefixes, characters and lengths.

To add a vendor, add a row: the rule's name, what it masks (for the table in docs/masking.md), and one `KeyFormat` for each
format of the vendor's secrets. `prefix_search` finds them in a text. Keep a format strict: the prefix, the characters and
the length that the vendor uses, so that ordinary words do not match.

Invariant: where one literal starts with another, the longer one is in an earlier row or format.
"""

from typing import NamedTuple


class KeyFormat(NamedTuple):
    """One format of a vendor's secrets."""

    literal: str  # the fixed prefix, which is searched
    body: str  # a pattern of bounded length for what must follow
    more: str = ""  # characters that belong to the secret if they follow the body, any number of them
    edge: str = "A-Za-z0-9"  # characters that must not precede the literal
    keep: int = 0  # so many characters of the literal are not secret and stay
    before: tuple[str, ...] = ()  # one of these must precede, and is secret too; each of fixed length


class VendorRule(NamedTuple):
    """One row of the table: a rule, what it masks, and the formats that it matches."""

    rule: str
    masks: str
    formats: tuple[KeyFormat, ...]


_ALNUM = "A-Za-z0-9"
_WORD = "A-Za-z0-9_-"
_BASE64 = "A-Za-z0-9+/"
_IN_BASE64 = "A-Za-z0-9_+/-"  # before a literal that is only a part of base64
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_END = "(?![A-Za-z0-9])"
_DIGIT = "(?=[A-Za-z_-]{0,30}+[0-9])"  # long names in programs have no digit


def _row(rule: str, masks: str, *formats: KeyFormat) -> VendorRule:
    return VendorRule(rule, masks, formats)


def _hex(literal: str, length: int, edge: str = _ALNUM) -> KeyFormat:
    return KeyFormat(literal, f"[0-9a-f]{{{length}}}{_END}", edge=edge)


def _alnum(literal: str, least: int, more: str = _ALNUM, edge: str = _ALNUM) -> KeyFormat:
    return KeyFormat(literal, f"[{_ALNUM}]{{{least}}}", more, edge)


def _word(literal: str, least: int, edge: str = _ALNUM) -> KeyFormat:
    return KeyFormat(literal, f"[{_WORD}]{{{least}}}", _WORD, edge)


def _webhook(address: str, body: str, more: str) -> KeyFormat:
    return KeyFormat(address, body, more, keep=len(address))


VENDORS: tuple[VendorRule, ...] = (
    # Language models and what is built around them
    _row("anthropic-key", "`sk-ant-…`", _word("sk-ant-", 16)),
    _row("openrouter-key", "`sk-or-…`", _word("sk-or-", 20)),
    _row("langfuse-key", "`sk-lf-…`", KeyFormat("sk-lf-", "[0-9a-f-]{32}", _WORD)),
    _row("helicone-key", "`sk-helicone-…`", KeyFormat("sk-helicone-", "[a-z0-9-]{24}", "a-z0-9-")),
    _row(
        "openai-key",
        "`sk-…`, `sk-proj-…`, `sk-svcacct-…`, `sk-admin-…`, and the vendors that copied the form",
        KeyFormat(
            "sk-",
            f"(?:[{_ALNUM}]{{20}}|(?:proj|svcacct|admin)-[{_WORD}]{{20}})",
            _WORD,
            edge=_WORD,
        ),
    ),
    _row("groq-key", "`gsk_…`", _alnum("gsk_", 32, _WORD)),
    _row("perplexity-key", "`pplx-…`", _alnum("pplx-", 32, _WORD)),
    _row("xai-key", "`xai-…`", _alnum("xai-", 40, _WORD)),
    _row(
        "huggingface-token",
        "`hf_…`, `api_org_…`",
        _alnum("hf_", 30, _WORD, edge=_WORD),
        _alnum("api_org_", 30, edge=_WORD),
    ),
    _row("replicate-token", "`r8_…`", _alnum("r8_", 30, _WORD, edge=_WORD)),
    _row("nvidia-key", "`nvapi-…`", _word("nvapi-", 32)),
    _row(
        "langsmith-key", "`lsv2_pt_…`, `lsv2_sk_…`", KeyFormat("lsv2_", f"(?:pt|sk)_[{_ALNUM}]{{24}}", _WORD)
    ),
    _row("tavily-key", "`tvly-…`", KeyFormat("tvly-", f"(?:dev-|prod-)?[{_ALNUM}]{{20}}", _WORD)),
    _row("fireworks-key", "`fw_…`", KeyFormat("fw_", f"{_DIGIT}[{_ALNUM}]{{22}}", _ALNUM, edge=_WORD)),
    _row("together-key", "`tgp_v1_…`", _word("tgp_v1_", 40)),
    _row("elevenlabs-key", "`sk_…` with 48 hexadecimal digits", _hex("sk_", 48, edge=_WORD)),
    _row("pinecone-key", "`pcsk_…`", KeyFormat("pcsk_", f"[{_ALNUM}]{{4,8}}_[{_ALNUM}]{{40}}", f"{_ALNUM}_")),
    _row("cerebras-key", "`csk-…`", KeyFormat("csk-", "[a-z0-9]{40}", "a-z0-9", edge=_WORD)),
    _row("jina-key", "`jina_…`", KeyFormat("jina_", f"{_DIGIT}[{_WORD}]{{40}}", _WORD)),
    _row("firecrawl-key", "`fc-…`", _hex("fc-", 32, edge=_WORD)),
    _row("e2b-key", "`e2b_…`", _hex("e2b_", 40, edge=_WORD)),
    _row("llamacloud-key", "`llx-…`", _alnum("llx-", 40, edge=_WORD)),
    _row(
        "anyscale-key", "`esecret_…`", KeyFormat("esecret_", f"{_DIGIT}[a-z0-9]{{24}}", "a-z0-9", edge=_WORD)
    ),
    # Clouds
    _row("google-api-key", "`AIza…`", _word("AIza", 30, edge=_IN_BASE64)),
    _row(
        "google-oauth",
        "`ya29.…`, `GOCSPX-…`, `1//0…`",
        _word("ya29.", 20),
        _word("GOCSPX-", 20),
        KeyFormat("1//0", f"{_DIGIT}[{_WORD}]{{40}}", _WORD, edge="A-Za-z0-9_/-"),
    ),
    _row(
        "aws-access-key",
        "`AKIA…`, `ASIA…` and their kin, with 16 more characters; `ABSK…`",
        *(KeyFormat(literal, f"[A-Z0-9]{{16}}{_END}") for literal in ("AKIA", "ASIA", "ABIA", "ACCA")),
        KeyFormat("ABSK", f"[{_BASE64}]{{100}}", f"{_BASE64}=", edge=_IN_BASE64),
        KeyFormat("amzn.mws.", f"{_UUID}{_END}"),
    ),
    _row("aws-secret-key", "values under a name such as `AWS_SECRET_ACCESS_KEY`"),
    _row(
        "signature",
        "`X-Amz-Signature=`, `X-Goog-Signature=` and `Signature=` of a signed URL",
        KeyFormat("X-Amz-Signature=", f"[0-9a-fA-F]{{64}}{_END}", keep=16),
        KeyFormat("X-Goog-Signature=", "[0-9a-fA-F]{64}", "0-9a-fA-F", keep=17),
        KeyFormat("Signature=", f"[%~+/{_WORD}]{{40}}", f"%~+/={_WORD}", edge="^?&", keep=10),
    ),
    _row(
        "azure-key",
        "values under `AccountKey`, `SharedAccessKey`, `AZURE_…_KEY`; `sig=` of a signed URL; `…Q~…`",
        KeyFormat("sig=", f"[%+/{_WORD}]{{40}}", f"%+/={_WORD}", edge="^?&", keep=4),
        KeyFormat("Q~", f"[.~{_WORD}]{{31,34}}", before=(f"[{_ALNUM}_.~]{{3}}[0-9]",)),
    ),
    _row(
        "cloudflare-key",
        "`v1.0-…` of the origin CA",
        KeyFormat("v1.0-", "[0-9a-f]{24}-[0-9a-f]{120}", "0-9a-f"),
    ),
    _row("heroku-token", "`HRKU-AA…`", _word("HRKU-AA", 50)),
    _row(
        "fly-token",
        "`fm2_…`, `fm1a_…`, `fm1r_…`, `fo1_…`",
        *(KeyFormat(literal, f"[{_BASE64}]{{100}}", f"{_BASE64}=") for literal in ("fm2_", "fm1a_", "fm1r_")),
        _word("fo1_", 43),
    ),
    _row("render-key", "`rnd_…`", KeyFormat("rnd_", f"{_DIGIT}[{_ALNUM}]{{28}}", _ALNUM, edge=_WORD)),
    _row("netlify-token", "`nfp_…`", _alnum("nfp_", 36, edge=_WORD)),
    _row("alibaba-key", "`LTAI…`", KeyFormat("LTAI", f"{_DIGIT}[{_ALNUM}]{{12,20}}{_END}")),
    _row("yandex-key", "`AQVN…`", _word("AQVN", 35, edge=_IN_BASE64)),
    _row(
        "tailscale-key",
        "`tskey-auth-…`, `tskey-api-…` and their kin",
        KeyFormat("tskey-", f"(?:auth|api|client|scim|webhook)-[{_ALNUM}]{{8,24}}-[{_ALNUM}]{{24}}", _ALNUM),
    ),
    _row(
        "digitalocean-token",
        "`dop_v1_…`, `doo_v1_…`, `dor_v1_…`",
        *(KeyFormat(literal, "[0-9a-f]{40}", _ALNUM) for literal in ("dop_v1_", "doo_v1_", "dor_v1_")),
    ),
    # Tools of developers
    _row(
        "github-token",
        "`ghp_…`, `gho_…`, `ghu_…`, `ghs_…`, `ghr_…`, `github_pat_…`",
        KeyFormat("github_pat_", f"[{_ALNUM}_]{{22}}", f"{_ALNUM}_"),
        *(_alnum(literal, 30, f"{_ALNUM}_") for literal in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    ),
    _row(
        "gitlab-token",
        "`glpat-…`, `gldt-…`, `glrt-…`, `glcbt-…`, `glptt-…` and their kin, `GR1348941…`",
        *(
            KeyFormat(f"gl{kind}-", f"[{_WORD}]{{20}}", f".{_WORD}")
            for kind in ("pat", "dt", "rt", "cbt", "ptt", "ft", "soat", "imt", "agent", "oas", "ffct")
        ),
        _word("GR1348941", 20, edge=_IN_BASE64),
    ),
    _row(
        "atlassian-token",
        "`ATATT3…`, `ATCTT3…`, `ATBB…`, `ATTA…`",
        *(KeyFormat(literal, f"[{_WORD}]{{150}}", f"={_WORD}") for literal in ("ATATT3", "ATCTT3")),
        _alnum("ATBB", 32, edge=_IN_BASE64),
        KeyFormat("ATTA", "[0-9a-f]{60}", "0-9A-Fa-f"),
    ),
    _row("npm-token", "`npm_…`", _alnum("npm_", 30)),
    _row("pypi-token", "`pypi-…`", KeyFormat("pypi-", f"(?:AgE[{_WORD}]{{16}}|[{_ALNUM}]{{40}})", _WORD)),
    _row("rubygems-key", "`rubygems_…`", _hex("rubygems_", 48)),
    _row("nuget-key", "`oy2…`", KeyFormat("oy2", f"[a-z0-9]{{43}}{_END}")),
    _row("docker-token", "`dckr_pat_…`, `dckr_oat_…`", _word("dckr_pat_", 20), _word("dckr_oat_", 20)),
    _row("clojars-token", "`CLOJARS_…`", KeyFormat("CLOJARS_", f"[0-9a-z]{{60}}{_END}")),
    _row(
        "artifactory-token",
        "`AKCp…`, `cmVmdGtu…`",
        _alnum("AKCp", 60, edge=_IN_BASE64),
        _alnum("cmVmdGtu", 50, edge=_IN_BASE64),
    ),
    _row("circleci-token", "`CCIPAT_…`", KeyFormat("CCIPAT_", f"[{_ALNUM}]{{18,26}}_[0-9a-f]{{40}}{_END}")),
    _row("buildkite-token", "`bkua_…`", _hex("bkua_", 40)),
    _row(
        "sonar-token",
        "`sqp_…`, `squ_…`, `sqa_…`",
        *(_hex(literal, 40, edge=_WORD) for literal in ("sqp_", "squ_", "sqa_")),
    ),
    _row(
        "terraform-token",
        "`….atlasv1.…`",
        KeyFormat(".atlasv1.", f"[{_WORD}]{{50}}", _WORD, before=(f"[{_ALNUM}]{{14}}",)),
    ),
    _row(
        "vault-token",
        "`hvs.…`, `hvb.…`, `hvr.…`",
        *(_word(literal, 24) for literal in ("hvs.", "hvb.", "hvr.")),
    ),
    _row("pulumi-token", "`pul-…`", _hex("pul-", 40)),
    _row(
        "doppler-token",
        "`dp.pt.…`, `dp.st.…` and their kin",
        KeyFormat("dp.", f"(?:pt|st|ct|sa|scim|audit)\\.(?:[a-z0-9_-]{{2,35}}\\.)?[{_ALNUM}]{{40}}", _ALNUM),
    ),
    _row("1password-token", "`ops_eyJ…`", KeyFormat("ops_eyJ", f"[+/{_WORD}]{{200}}", f"+/={_WORD}")),
    _row("databricks-token", "`dapi…`", KeyFormat("dapi", f"[0-9a-f]{{32}}(?:-[0-9])?{_END}", edge=_WORD)),
    _row(
        "launchdarkly-key",
        "`sdk-…` and `api-…` with a UUID",
        *(KeyFormat(f"{kind}-", f"{_UUID}{_END}", edge=_WORD) for kind in ("sdk", "api")),
    ),
    _row("prefect-key", "`pnu_…`, `pnb_…`", _alnum("pnu_", 36, edge=_WORD), _alnum("pnb_", 36, edge=_WORD)),
    _row("contentful-token", "`CFPAT-…`", _word("CFPAT-", 40)),
    _row(
        "airtable-token",
        "`pat….…`",
        KeyFormat("pat", f"[{_ALNUM}]{{14}}\\.[0-9a-f]{{60}}", "0-9a-f", edge=_WORD),
    ),
    _row("linear-key", "`lin_api_…`, `lin_oauth_…`", _alnum("lin_api_", 32), _hex("lin_oauth_", 64)),
    _row(
        "notion-token",
        "`ntn_…`, `secret_…` with 43 letters and digits",
        KeyFormat("ntn_", f"[0-9]{{9,12}}[{_ALNUM}]{{30}}", _ALNUM, edge=_WORD),
        KeyFormat("secret_", f"{_DIGIT}[{_ALNUM}]{{43}}{_END}", edge=_WORD),
    ),
    _row(
        "clickup-token",
        "`pk_…` with a number and 32 capitals and digits",
        KeyFormat("pk_", f"[0-9]{{6,10}}_[A-Z0-9]{{32}}{_END}", edge=_WORD),
    ),
    _row(
        "figma-token",
        "`figd_…`, `figu_…`",
        *(KeyFormat(literal, f"{_DIGIT}[{_WORD}]{{38}}", _WORD) for literal in ("figd_", "figu_")),
    ),
    _row("postman-key", "`PMAK-…`", KeyFormat("PMAK-", f"[0-9a-f]{{24}}-[0-9a-f]{{34}}{_END}")),
    _row(
        "sentry-token",
        "`sntrys_…`, `sntryu_…`",
        KeyFormat("sntrys_", f"eyJ[+/={_WORD}]{{60}}", f"+/={_WORD}"),
        _hex("sntryu_", 64),
    ),
    _row(
        "grafana-token",
        "`glsa_…`, `glc_eyJ…`, `eyJrIjoi…`",
        KeyFormat("glsa_", f"[{_ALNUM}]{{32}}_[0-9A-Fa-f]{{8}}{_END}"),
        KeyFormat("glc_", f"eyJ[{_BASE64}]{{32}}", f"{_BASE64}="),
        KeyFormat("eyJrIjoi", f"[{_BASE64}]{{40}}", f"{_BASE64}=", edge=_IN_BASE64),
    ),
    _row(
        "newrelic-key",
        "`NRAK-…`, `NRII-…` and their kin, `…NRAL`",
        KeyFormat("NRAK-", f"[A-Z0-9]{{27}}{_END}"),
        *(_word(literal, 19) for literal in ("NRII-", "NRIQ-", "NRRA-", "NRJS-", "NRBR-")),
        KeyFormat("NRAL", _END, before=("[0-9a-f]{36}",)),
    ),
    _row("honeycomb-key", "`hcaik_…`", KeyFormat("hcaik_", "[a-z0-9]{50}", "a-z0-9")),
    _row("dynatrace-token", "`dt0c01.….…`", KeyFormat("dt0c01.", f"[A-Z0-9]{{24}}\\.[A-Z0-9]{{64}}{_END}")),
    _row(
        "supabase-key",
        "`sbp_…`, `sb_secret_…`",
        KeyFormat("sbp_", f"(?:v0_)?[0-9a-f]{{40}}{_END}"),
        _word("sb_secret_", 22),
    ),
    _row(
        "planetscale-token",
        "`pscale_tkn_…`, `pscale_pw_…`, `pscale_oauth_…`",
        KeyFormat("pscale_", f"(?:tkn|pw|oauth)_[.={_WORD}]{{32}}", f".={_WORD}"),
    ),
    _row("neon-key", "`napi_…`", KeyFormat("napi_", "[a-z0-9]{60}", "a-z0-9")),
    _row("readme-key", "`rdme_…`", KeyFormat("rdme_", "[a-z0-9]{70}", "a-z0-9")),
    _row(
        "sourcegraph-token",
        "`sgp_…`",
        KeyFormat("sgp_", f"(?:[0-9a-f]{{16}}_|local_)?[0-9a-f]{{40}}{_END}", edge=_WORD),
    ),
    _row("posthog-key", "`phx_…`", _alnum("phx_", 40, edge=_WORD)),
    # Communication
    _row(
        "slack-token",
        "`xoxb-…`, `xoxp-…` and their kin, `xapp-…`",
        KeyFormat(
            "xox",
            f"(?:[abceoprs](?:\\.xox[a-z])?-[0-9][{_ALNUM}-]{{15}}|d-[{_ALNUM}%+/]{{16}})",
            f"%+/={_WORD}",
        ),
        KeyFormat("xapp-", f"[0-9]-[{_ALNUM}-]{{20}}", f"{_ALNUM}-"),
    ),
    _row(
        "slack-webhook",
        "what follows `hooks.slack.com/services/`",
        _webhook("hooks.slack.com/services/", f"[{_ALNUM}/]{{20}}", f"{_ALNUM}/"),
    ),
    _row(
        "discord-token",
        "a bot's token: three parts, the first one begins with `M`, `N` or `O`",
        KeyFormat(
            ".",
            f"[{_WORD}]{{6}}\\.[{_WORD}]{{27,45}}(?![.{_WORD}])",
            before=tuple(f"[MNO][{_ALNUM}]{{{length}}}" for length in range(22, 28)),
        ),
    ),
    _row(
        "discord-webhook",
        "what follows `discord.com/api/webhooks/`",
        *(
            _webhook(f"{host}.com/api/webhooks/", f"[0-9]{{17,20}}/[{_WORD}]{{60}}", _WORD)
            for host in ("discord", "discordapp")
        ),
    ),
    _row(
        "teams-webhook",
        "what follows `webhook.office.com/webhookb2/` and `outlook.office.com/webhook/`",
        *(
            _webhook(address, "[0-9A-Fa-f@-]{36}", f"{_ALNUM}@/-")
            for address in ("webhook.office.com/webhookb2/", "outlook.office.com/webhook/")
        ),
    ),
    _row(
        "telegram-token",
        "a bot's `<number>:AA…`",
        KeyFormat(":AA", f"[{_WORD}]{{32,33}}(?![{_WORD}])", edge="^0-9", keep=1),
    ),
    _row("sendgrid-key", "`SG.….…`", KeyFormat("SG.", f"[{_WORD}]{{16,32}}+\\.[{_WORD}]{{24}}", _WORD)),
    _row("mailgun-key", "`key-…` with 32 hexadecimal digits", _hex("key-", 32, edge=_WORD)),
    _row("brevo-key", "`xkeysib-…`", KeyFormat("xkeysib-", f"[0-9a-f]{{64}}-[{_ALNUM}]{{12}}", _ALNUM)),
    _row("resend-key", "`re_…_…`", KeyFormat("re_", f"[{_ALNUM}]{{8}}_[{_ALNUM}]{{24}}{_END}", edge=_WORD)),
    _row("facebook-token", "`EAA…`", _alnum("EAA", 100, edge=_IN_BASE64)),
    # Payment, trade and other services
    _row(
        "stripe-key",
        "`sk_live_…`, `rk_live_…`, `sk_test_…`, `rk_test_…`",
        *(_alnum(literal, 16) for literal in ("sk_live_", "rk_live_", "sk_test_", "rk_test_")),
    ),
    _row("stripe-webhook", "`whsec_…`", KeyFormat("whsec_", f"{_DIGIT}[{_BASE64}]{{24}}", f"{_BASE64}=")),
    _row(
        "shopify-token",
        "`shpat_…`, `shpss_…`, `shpca_…`, `shppa_…`",
        *(KeyFormat(f"shp{kind}_", f"[0-9A-Fa-f]{{32}}{_END}") for kind in ("at", "ss", "ca", "pa")),
    ),
    _row(
        "paypal-token",
        "`access_token$production$…`",
        KeyFormat("access_token$production$", f"[a-z0-9]{{16}}\\$[0-9a-f]{{32}}{_END}"),
    ),
    _row("square-token", "`sq0atp-…`, `sq0csp-…`", _word("sq0atp-", 22), _word("sq0csp-", 43)),
    _row(
        "plaid-token",
        "`access-production-…`, `access-sandbox-…`, `access-development-…`",
        *(
            KeyFormat(f"access-{kind}-", f"{_UUID}{_END}")
            for kind in ("production", "sandbox", "development")
        ),
    ),
    _row("easypost-key", "`EZAK…`", _alnum("EZAK", 54)),
    _row(
        "duffel-token",
        "`duffel_live_…`, `duffel_test_…`",
        KeyFormat("duffel_", f"(?:live|test)_[={_WORD}]{{40}}", f"={_WORD}"),
    ),
    _row(
        "shippo-token", "`shippo_live_…`, `shippo_test_…`", _hex("shippo_live_", 40), _hex("shippo_test_", 40)
    ),
    _row(
        "hubspot-token",
        "`pat-na1-…`, `pat-eu1-…`",
        KeyFormat("pat-", f"(?:na|eu|ap)[0-9]-{_UUID}{_END}", edge=_WORD),
    ),
    _row("dropbox-token", "`sl.…`", KeyFormat("sl.", f"[{_WORD}]{{100}}", _WORD, edge="A-Za-z0-9_.-")),
    _row("typeform-token", "`tfp_…`", _word("tfp_", 40)),
    _row("mapbox-token", "`sk.eyJ…`", KeyFormat("sk.eyJ", f"[{_WORD}]{{20,200}}+\\.[{_WORD}]{{20}}", _WORD)),
    _row("age-key", "`AGE-SECRET-KEY-1…`", KeyFormat("AGE-SECRET-KEY-1", "[0-9A-Z]{40}", "0-9A-Z")),
    # Found by their names only
    _row("twilio-key", "values under a name with `twilio` in it"),
    _row("cohere-key", "values under a name with `cohere` in it, or `CO_API_KEY`"),
    _row("mistral-key", "values under a name with `mistral` in it"),
)
