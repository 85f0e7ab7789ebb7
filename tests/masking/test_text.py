"""Masking of text: what becomes of a line, and what is left alone."""

import json

import pytest

from runcard.masking import Masked, mask_bytes, mask_text
from runcard.masking.rules import RULES

KEY = "sk-ant-api03-" + "a1B2-c3D4_" * 9 + "AA"
LONG = "x9" * 3000

SHOWN = {
    "Authorization: Bearer abcdef123456": "Authorization: Bearer [masked:bearer-token]",
    "postgres://user:hunter2@host/db": "postgres://user:[masked:url-password]@host/db",
    f"key {KEY}.": "key [masked:anthropic-key].",
    f"{KEY}{KEY}": "[masked:anthropic-key]",
    f'"a": "\\n{KEY}\\n"': '"a": "\\n[masked:anthropic-key]\\n"',
    f"x{KEY}": f"x{KEY}",
    "password: hunter2": "password: [masked:password]",
    "PASSWORD=a;b": "PASSWORD=a;b",
    "DB_PASSWORD=abc;def": "DB_PASSWORD=[masked:password];def",
    "password='it is \"mine\" now'": "password='[masked:password]'",
    '{"a": "password: \'hunter2", "b": "it\'s"}': '{"a": "password: \'[masked:password]", "b": "it\'s"}',
    '"password": "a\\\\", "b": "c"': '"password": "[masked:password]", "b": "c"',
    'say \\"password\\": \\"hunter2"': 'say \\"password\\": \\"[masked:password]"',
    'password="hunter2': 'password="[masked:password]',
    "password=`hunter2`": "password=`[masked:password]`",
    f'"password": "{LONG}"': '"password": "[masked:password]"',
    f'"password": "{LONG}\\"{LONG}", "b": 1': '"password": "[masked:password]", "b": 1',
    f'\\"password\\": \\"{LONG}\\", b': '\\"password\\": \\"[masked:password]\\", b',
    f"token={LONG},b": "token=[masked:named-secret],b",
    f"Cookie: a={LONG}; b=1\nc": "Cookie: [masked:cookie]\nc",
    "Set-Cookie: a={value}; Path=/": "Set-Cookie: a={value}; Path=/",
    "Cookie: theme": "Cookie: theme",
    '"cookie": "q1w2e3r4t5y6"': '"cookie": "[masked:cookie]"',
    "Authorization: Digest $DIGEST": "Authorization: Digest $DIGEST",
    "Authorization: Basic realm": "Authorization: Basic realm",
    "Authorization: Basic !!!!": "Authorization: Basic !!!!",
    "api key: q1w2e3r4": "api key: [masked:named-secret]",
    "no api key: q1w2e3r4": "no api key: [masked:named-secret]",
    "api_key Zx81Ab99Cd77Ef55Gh33Ij": "api_key [masked:named-secret]",
    "token Zx81Ab99Cd77Ef55Gh33Ij": "token Zx81Ab99Cd77Ef55Gh33Ij",
    "WITH PASSWORD 'hunter2'": "WITH PASSWORD '[masked:password]'",
    "the secret 'hunter2'": "the secret 'hunter2'",
    "define('DB_PASSWORD', 'hunter2')": "define('DB_PASSWORD', '[masked:password]')",
    "define( 'DB_PASSWORD',    'sunshine' )": "define( 'DB_PASSWORD',    '[masked:password]' )",
    "Cookie: secret=abc; sid=q1w2e3r4": "Cookie: [masked:cookie]",
    "cat secret | base64decode1": "cat secret | base64decode1",
    "| token | `q1w2e3r4t5y6` |": "| token | `[masked:named-secret]` |",
    "Authorization: SSWS 00q1w2e3r4t5y6u7i8": "Authorization: SSWS [masked:authorization]",
    'Authorization: Digest a="b", response="c1d2"': "Authorization: Digest [masked:authorization]",
    "the password is hunter2.": "the password is [masked:password]",
    "the password is wrong": "the password is wrong",
    "KEY=q1w2e3r4": "KEY=q1w2e3r4",
    "KEY=q1w2e3r4t5y6u7i8o9": "KEY=[masked:named-secret]",
    "/x?key=q1w2e3r4t5y6u7i8o9&b=1": "/x?key=[masked:named-secret]&b=1",
    "/x?key=name&order=asc": "/x?key=name&order=asc",
    "mysql -u root -phunter2 app": "mysql -u root -p[masked:password] app",
    "mkdir -p hunter2": "mkdir -p hunter2",
    "keytool -storepass hunter2 x": "keytool -storepass [masked:password] x",
    "openssl rsa -passin pass:hunter2": "openssl rsa -passin pass:[masked:password]",
    "openssl rsa -passin env:PW": "openssl rsa -passin env:PW",
    'const privateKey: string = "hunter2";': 'const privateKey: string = "[masked:named-secret]";',
    "<key>password</key><string>hunter2</string>": "<key>password</key><string>[masked:password]</string>",
    "['password', 'hunter2']": "['password', 'hunter2']",
    "(?P<password>hunter2</": "(?P<password>hunter2</",
    "<password>hunter2": "<password>hunter2",
    "a:secret:b1c2d3e4": "a:secret:b1c2d3e4",
    '"password=" + name': '"password=" + name',
    '"password="+name+"&x="': '"password="+name+"&x="',
    "pass: q1w2e3r4": "pass: q1w2e3r4",
    "curl -u bob:$PASSWORD x": "curl -u bob:$PASSWORD x",
    "curl -x [masked:jwt] -u bob:hunter2": "curl -x [masked:jwt] -u bob:hunter2",
    "docker -u bob:hunter2 x": "docker -u bob:hunter2 x",
    "the --password option": "the --password option",
    "--path 'a b'": "--path 'a b'",
    "postgres://user:${PASSWORD}@host": "postgres://user:${PASSWORD}@host",
    "Bearer aaaaaaaaaaaaaaaaaaaaaaa": "Bearer aaaaaaaaaaaaaaaaaaaaaaa",
}


@pytest.mark.parametrize("text", SHOWN, ids=lambda text: text[:40])
def test_a_line_is_shown_with_marks_in_place_of_secrets(text: str) -> None:
    assert mask_text(text).value == SHOWN[text]


def test_masking_says_how_often_each_rule_was_applied() -> None:
    masked = mask_text(f"{KEY} password=hunter2 {KEY}")
    assert masked == Masked(
        "[masked:anthropic-key] password=[masked:password] [masked:anthropic-key]", masked.counts
    )
    assert masked.counts == {"anthropic-key": 2, "password": 1}


def test_text_without_a_secret_is_the_same_object() -> None:
    text = "nothing here, " * 200
    assert mask_text(text).value is text
    assert mask_text("short").value == "short"


def test_bytes_that_are_not_utf_8_stay_as_they_are() -> None:
    masked = mask_bytes(b"\xff\xfe password=hunter2\xff\n\x80\x81")
    assert masked == (b"\xff\xfe password=[masked:password]\n\x80\x81", {"password": 1})


def test_a_password_of_other_letters_is_taken_whole() -> None:
    assert mask_text('{"password": "пароль№1"}').value == '{"password": "[masked:password]"}'
    assert mask_text("password: schlüssel№1ß, next").value == "password: [masked:password], next"


def test_half_a_surrogate_pair_does_not_stop_masking() -> None:
    assert mask_text(f"\ud83d {KEY} \udc80").value == "\ud83d [masked:anthropic-key] \udc80"


def test_the_lines_of_a_key_may_be_the_strings_of_a_list() -> None:
    body = "MIIE" + "a1B2" * 15
    text = json.dumps(["-----BEGIN PRIVATE KEY-----", body, body, "-----END PRIVATE KEY-----", "x"])
    assert json.loads(mask_text(text).value) == ["[masked:private-key]", "x"]


def test_a_block_never_goes_from_a_value_into_a_name() -> None:
    body = "a1B2" * 20
    text = json.dumps({"a": f"-----BEGIN PRIVATE KEY-----\n{body}", "-----END PRIVATE KEY-----": 1})
    assert json.loads(mask_text(text).value) == {"a": "[masked:private-key]", "-----END PRIVATE KEY-----": 1}


def test_a_block_never_goes_over_the_border_of_a_name_and_a_value() -> None:
    body = "a1B2" * 20
    text = json.dumps({"a": f"-----BEGIN PRIVATE KEY-----\n{body}", "-----END PRIVATE KEY-----": 1})
    assert json.loads(mask_text(text).value) == {"a": "[masked:private-key]", "-----END PRIVATE KEY-----": 1}
    text = json.dumps({"-----BEGIN PRIVATE KEY-----": f"{body}-----END PRIVATE KEY-----"})
    assert json.loads(mask_text(text).value) == {"-----BEGIN PRIVATE KEY-----": "[masked:named-secret]"}


@pytest.mark.parametrize(
    "text", ["x --password ", "x -u ", "x --token ", "password=", "password: ", "token ", "Cookie: "]
)
def test_a_string_that_ends_where_a_secret_may_begin_stays(text: str) -> None:
    for value in (
        {text: 1, "a": "b1c2d3e4f5"},
        [text, "b1c2d3e4f5"],
        {"a": text},
        {"a": text, "b:c": "d1e2f3g4h5"},
    ):
        for indent in (None, 2):
            written = json.dumps(value, indent=indent)
            assert mask_text(written) == (written, {})


def test_a_block_with_brackets_in_it_is_no_key() -> None:
    text = '-----BEGIN PRIVATE KEY-----"], ["' + "a1B2" * 10 + "-----END PRIVATE KEY-----"
    assert mask_text(text) == (text, {})


@pytest.mark.parametrize("rule", RULES)
def test_a_mark_is_ascii_and_fits_into_json(rule: str) -> None:
    mark = f"[masked:{rule}]"
    assert mark.isascii()
    assert json.dumps(mark) == f'"{mark}"'
    assert mask_text(f"password={mark} token: {mark}").counts == {}
