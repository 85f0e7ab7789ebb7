"""Labels name a secret for people; they are no secrets."""

import pytest

from runcard.masking import mask_data, mask_environment, mask_text
from runcard.masking.secret_values import is_label

LABELS = [
    "Passwort",
    "Contraseña",
    "Mot de passe",
    "пароль",
    "パスワード",
    "Confirm password",
    "API-Schlüssel",
    "Password",
]
SECRETS = [
    "hunter2",
    "Passwort1",
    "monkey",
    "Monkey",
    "correct horse battery staple",
    "secret",
    "пароль№1",
    "",
]


@pytest.mark.parametrize("text", LABELS)
def test_a_label_stays_in_a_text_and_in_data(text: str) -> None:
    assert is_label(text)
    assert mask_text(f'"password": "{text}",').counts == {}
    assert mask_data({"password": text}).counts == {}


@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_is_no_label(text: str) -> None:
    assert not is_label(text)


def test_what_a_variable_holds_is_never_a_label() -> None:
    assert mask_environment({"DB_PASSWORD": "Passwort"}).counts == {"password": 1}
    assert mask_text("DB_PASSWORD=Passwort").counts == {"password": 1}


@pytest.mark.parametrize(
    "text",
    [
        "password_label=Password",
        "Enter your password",
        '{"password": {"type": "string"}}',
        "password: string;",
        "password: String!",
        "connect(password=None)",
        "password=${PASSWORD}",
        "password: <password>",
        'key = os.environ["KEY"]',
        "password: xxxx",
        '"password": "must be at least 12 characters"',
        "The password is too short",
    ],
)
def test_forms_types_and_placeholders_stay(text: str) -> None:
    assert mask_text(text) == (text, {})
