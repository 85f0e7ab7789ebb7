"""Texts in which a short cut of masking could go wrong, with their results: names, signs and values in unusual forms."""

import pytest

from runcard.masking import Masker, mask_text

CASES = {
    "a string that goes on is not a value": (
        'f = "password=" + name1 + "x1y2z3"',
        'f = "password=" + name1 + "x1y2z3"',
    ),
    "a value that begins with a plus is not a shortcut": (
        '$pwd]="+x1y2z3"',
        '$pwd]="+x1y2z3"',
    ),
    "digits with an exponent are a number": (
        "token: 12e5",
        "token: 12e5",
    ),
    "letters between digits are random": (
        "token: 1e5k3a9b2c",
        "token: [masked:named-secret]",
    ),
    "base64 with a slash": (
        "password: a1/B2c+D3e4==",
        "password: [masked:password]",
    ),
    "the location of a secret": (
        "API_KEY=op/vault1/item2",
        "API_KEY=op/vault1/item2",
    ),
    "a short value in code": (
        "t.token:a.x,n.auth===b.c)credentials:d1}",
        "t.token:a.x,n.auth===b.c)credentials:d1}",
    ),
    "a short value of a variable": (
        "MY_TOKEN=a1b\nmy_token=a1b\n",
        "MY_TOKEN=[masked:named-secret]\nmy_token=a1b\n",
    ),
    "a short value in a query": (
        "GET /?token=a1b&x=2",
        "GET /?token=a1b&x=2",
    ),
    "a short value in a connection string": (
        "Server=db; Password=a1b;",
        "Server=db; Password=[masked:password];",
    ),
    "a short value in XML": (
        "<password>a1b</password>",
        "<password>[masked:password]</password>",
    ),
    "a group in a regular expression": (
        "(?P<password>a1b</password>",
        "(?P<password>a1b</password>",
    ),
    "a short cookie with a comma": (
        "cookie: a,b=c",
        "cookie: [masked:cookie]",
    ),
    "the same under a longer name": (
        "session_cookie_key: a,b=c",
        "session_cookie_key: a,b=c",
    ),
    "the same under a very long name": (
        "cookie_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_key: a,b=c",
        "cookie_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_key: a,b=c",
    ),
    "a secret in a header": (
        "Authorization: Digest sk-ant-api03-a1b2c3d4e5f6a7b8",
        "Authorization: Digest [masked:authorization]",
    ),
    "a cookie that is set": (
        "Set-Cookie: id=a1b2c3; Path=/",
        "Set-Cookie: id=[masked:cookie]; Path=/",
    ),
    "a word before a name": (
        "api key: a1b2c3d4e5, cache key: a1b2c3d4e5",
        "api key: [masked:named-secret], cache key: a1b2c3d4e5",
    ),
    "any word before a name that starts with use": (
        "use_token=a1b2c3d4e5 my use_token=a1b2c3d4e5",
        "use_token=a1b2c3d4e5 my use_token=[masked:named-secret]",
    ),
    "no letter before pat": (
        "my _pat=a1b2c3d4e5f6 x\n_pat=a1b2c3d4e5f6",
        "my _pat=[masked:named-secret] x\n_pat=a1b2c3d4e5f6",
    ),
    "a word that ends a value before the name": (
        "user=api key=a1b2c3d4e5f6a7b8c9",
        "user=api key=[masked:named-secret]",
    ),
    "a name after an escape": (
        '{"text": "x\\npassword=a1b2c3"}',
        '{"text": "x\\npassword=[masked:password]"}',
    ),
    "a name after a colour": (
        "\x1b[32mpassword\x1b[0m=a1b2c3",
        "\x1b[32mpassword\x1b[0m=[masked:password]",
    ),
    "part of a longer name": (
        "arn:aws:secretsmanager:eu:1:secret:a1b2c3d4",
        "arn:aws:secretsmanager:eu:1:secret:a1b2c3d4",
    ),
    "a mark before a name": (
        "[masked:password=a1b2c3]",
        "[masked:password=a1b2c3]",
    ),
    "a name in two words": (
        "SECRET_KEY=a1b2c3 secret.key: 'a1b2c3'",
        "SECRET_KEY=[masked:named-secret] secret.key: '[masked:named-secret]'",
    ),
    "the value is the name": (
        "password=password PASSWORD=PASSWORD",
        "password=password PASSWORD=PASSWORD",
    ),
    "quotes that close after an escape": (
        '"password": "a1\\"b2", x',
        '"password": "[masked:password]", x',
    ),
    "quotes that do not close": (
        'password="a1b2c3',
        'password="[masked:password]',
    ),
    "other quotes within": (
        "password='a1\"b2' token=\"a1'b2c3d4e5\" ",
        "password='a1\"b2' token=\"a1'b2c3d4e5\" ",
    ),
    "a value at the limit of what is checked": (
        "PASSWORD=a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a\\nb",
        "PASSWORD=[masked:password]\\nb",
    ),
    "a value beyond it": (
        "PASSWORD=a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1-x y",
        "PASSWORD=[masked:password] y",
    ),
    "a name at the limit": (
        "passwordxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxvalue=a1b2c3d4 passwordxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx=a1b2c3d4",
        "passwordxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxvalue=a1b2c3d4 passwordxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx=a1b2c3d4",
    ),
    "a long name before the word": (
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxpassword=a1b2c3 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxpassword=a1b2c3",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxpassword=[masked:password] xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxpassword=[masked:password]",
    ),
}


@pytest.mark.parametrize(("text", "masked"), CASES.values(), ids=CASES)
def test_a_short_cut_changes_no_result(text: str, masked: str) -> None:
    assert mask_text(text).value == masked


def test_what_was_read_before_does_not_count() -> None:
    """One masker remembers names, words and values of all texts."""
    masker, fresh = Masker(), []
    for text, _ in [*CASES.values(), *reversed(CASES.values())]:
        fresh.append(mask_text(f"{text}\n").value)
        assert (masker.feed(f"{text}\n".encode()) + masker.flush()).decode() == fresh[-1]
