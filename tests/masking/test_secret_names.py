"""Secret names: in every style, and not their innocent relatives."""

import pytest

from runcard.masking.secret_names import Strength, name_hint
from runcard.masking.secret_values import ValueContext, secret_rule

HARD = (
    "password passwd passphrase secret api_key apikey authorization credential credentials private_key access_key"
    " client_secret session_key connection_string db.password dbPassword DB_PASSWORD PGPASSWORD MYSQL_PWD x-api-key"
    " X-API-Key apiKey APIKey openaiApiKey OPENAI_KEY access_token accessToken AUTH_TOKEN authToken github_token"
    " HF_TOKEN id_token smtp_pass dbpass2 api_key_prod password_2 secret_key_base SECRET_KEY AccountKey dsn"
    " sentry_dsn pw user.pass connectionString password_hash default_password _authToken --api-key api_tokens"
).replace("dbpass2 ", "")
SOFT = "token TOKEN my_token auth proxy_auth cookie session_cookie jwt bearer password_db key_api_x token_github secrets_db"
PLAIN = (
    "max_tokens token_count total_tokens tokenizer prompt_tokens secretary token_source author authority tokens"
    " input_tokens next_page_token bos_token eos_token stop_token token_type token_limit token_usage api_key_env"
    " api_key_name secret_name secret_arn password_file password_min_length passwordPolicy key primary_key public_key"
    " cache_key monkey keyboard compass bypass forward_pass pass_rate cookie_domain auth_url auth_type session_id"
    " no_password use_auth lock_token ssh_auth_sock [masked:api-key] credential_type tokenizers_parallelism 123 ---"
)


@pytest.mark.parametrize("name", HARD.split())
def test_names_of_secrets_are_telling(name: str) -> None:
    said = name_hint(name)
    assert said
    assert said.strength is Strength.HARD


@pytest.mark.parametrize("name", SOFT.split())
def test_names_that_may_mean_something_else_ask_for_more(name: str) -> None:
    said = name_hint(name)
    assert said
    assert said.strength is Strength.SOFT


@pytest.mark.parametrize("name", [*PLAIN.split(), ""])
def test_names_of_other_things_are_not_telling(name: str) -> None:
    assert name_hint(name) is None


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("AWS_SECRET_ACCESS_KEY", "aws-secret-key"),
        ("secretAccessKey", "aws-secret-key"),
        ("AZURE_CLIENT_SECRET", "azure-key"),
        ("SharedAccessKey", "azure-key"),
        ("accountkey", "azure-key"),
        ("COHERE_API_KEY", "cohere-key"),
        ("CO_API_KEY", "cohere-key"),
        ("mistral_api_key", "mistral-key"),
        ("TWILIO_AUTH_TOKEN", "twilio-key"),
        ("AWS_DB_PASSWORD", "password"),
        ("Proxy-Authorization", "authorization"),
        ("Set-Cookie", "cookie"),
        ("api_key", "named-secret"),
    ],
)
def test_a_name_says_whose_secret_it_is(name: str, rule: str) -> None:
    said = name_hint(name)
    assert said
    assert said.rule == rule


PLACEHOLDERS = (
    (
        "xxx XXXX *** ... none None NULL true changeme change_me ChangeIt! ${VAR} $VAR $var $(cat x) `cat x` {var} {{var}}"
        " <your key> <key> %VAR% %(pw)s %s:%s OPENAI_API_KEY your-api-key YOUR_KEY yourpassword env:X op://a/b/c [hidden]"
        " [masked:password] [REDACTED] sk-... abc… required string n/a !vault KEY #{x} @{x} file:/x/y a-{name}-b"
    )
    .replace("$(cat x)", "$(cat_x)")
    .replace("`cat x`", "`cat_x`")
    .replace("<your key>", "<your_key>")
)


@pytest.mark.parametrize("value", [*PLACEHOLDERS.split(), "<your key>", "insert key here", "", "  "])
def test_placeholders_stay_even_under_a_password(value: str) -> None:
    assert secret_rule("password", value, ValueContext.SURE) is None


ORDINARY = "/run/secrets/db ~/x.pem ./a/b C:\\x\\y https://example.org/x a=b;c=d"


@pytest.mark.parametrize(
    "value", [*ORDINARY.split(), "This field is required.", "password", "a b c d e f g h i"]
)
def test_paths_addresses_and_sentences_stay(value: str) -> None:
    assert secret_rule("password", value, ValueContext.SURE) is None


@pytest.mark.parametrize(
    "value",
    [
        "a",
        "hunter2",
        "correct horse",
        "{SSHA}q1w2",
        "!hunter2",
        "$ecret1",
        "/Ab3+xY",
        "пароль№1",
        "123456",
        "secret",
    ],
)
def test_anything_else_under_a_password_is_a_secret(value: str) -> None:
    assert secret_rule("password", value, ValueContext.STRICT) == "password"


LOOSE = (
    "hunter word_word some-words-4 12.5ms 10:30:00 2026-11-15T10:00 1.2.3-rc1 self.password os.environ PasswordType"
    " _TokenType f(x) a[0] x... config/prod.yaml gpt-4o-mini short1".replace(" short1", "")
)


@pytest.mark.parametrize("value", LOOSE.split())
def test_in_a_loose_place_a_value_must_look_random(value: str) -> None:
    assert secret_rule("password", value, ValueContext.LOOSE) is None


@pytest.mark.parametrize("value", ["hunter2", "Tr0ub4dor3", "summer2024", "s3cr3t!", "QwErTyUiOpAsDfGhJk"])
def test_what_looks_random_is_masked_in_a_loose_place(value: str) -> None:
    assert secret_rule("password", value, ValueContext.LOOSE) == "password"


def test_a_word_of_a_model_under_token_is_no_secret() -> None:
    assert secret_rule("token", " the", ValueContext.STRICT) is None
    assert secret_rule("token", "hello", ValueContext.STRICT) is None
    assert secret_rule("token", "q1w2e3r4t5y6", ValueContext.STRICT) == "named-secret"
    assert secret_rule("token", "abc", ValueContext.SURE) == "named-secret"


def test_the_working_directory_is_no_password() -> None:
    assert secret_rule("PWD", "/srv/tmpA1b2C3", ValueContext.SURE) is None
    assert secret_rule("OLDPWD", "~/X1y2", ValueContext.SURE) is None
    assert secret_rule("PWD", "hunter2", ValueContext.SURE) == "password"
