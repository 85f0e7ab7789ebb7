"""Texts made of the pieces that masking looks for, in every wrong order: for laws that must hold of any text."""

import string

from hypothesis import strategies as st

ALNUM = string.ascii_letters + string.digits

_PIECES = (
    *(
        "password",
        "api_key",
        "token",
        "secret",
        "Authorization",
        "Cookie",
        "Set-Cookie",
        "auth",
        "pwd",
        "API_KEY",
    ),
    *(
        "--token",
        "--password",
        "curl -u a",
        " -u bob",
        "key",
        "api",
        ":",
        "=",
        ": ",
        " = ",
        "=>",
        ":=",
        '"',
        "'",
    ),
    *(
        '\\"',
        '\\\\\\"',
        "`",
        "\\n",
        "\\",
        "\n",
        "\r\n",
        "\t",
        " ",
        ",",
        ";",
        "&",
        "?",
        "{",
        "}",
        "[",
        "]",
        "<",
        ">",
    ),
    *("</", "@", "://", "#", "|", "(", ")", "+", ".", "-", "_", "%20", "$", "\x1b[32m", "\x1b[0m", "Bearer "),
    *(
        "Basic ",
        "Digest ",
        "hunter2",
        "s3cr3t!",
        "correct horse",
        "é",
        "日本",
        "🔑",
        "\udc80",
        "[masked:password]",
    ),
    *(
        "[masked:",
        "masked:",
        "sk-",
        "sk-ant-",
        "ghp_",
        "AKIA",
        "eyJ",
        ".eyJ",
        "hf_",
        "xoxb-",
        "sig=",
        "123456789:AA",
    ),
    *(
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "-----",
        "hooks.slack.com/services/",
        "null",
    ),
    *("true", "12345", "user:pw@", "n", "m", "x"),
)
_random = st.text(ALNUM, min_size=3, max_size=70) | st.text(ALNUM + "+/", min_size=40, max_size=300)

pieces = st.sampled_from(_PIECES)
texts = st.lists(pieces | pieces | _random, max_size=25).map("".join)
