"""Masking of command lines."""

import shlex

import pytest

from runcard.masking import mask_command

KEY = "sk-ant-api03-" + "a1B2-c3D4_" * 9 + "AA"

CASES = {
    "tool --api-key abc": "tool --api-key [masked:named-secret]",
    "tool --api-key=abc": "tool --api-key=[masked:named-secret]",
    f"tool --api-key {KEY}": "tool --api-key [masked:anthropic-key]",
    "tool --password=abc -v": "tool --password=[masked:password] -v",
    "tool -password abc": "tool -password [masked:password]",
    "tool --token abc": "tool --token [masked:named-secret]",
    "tool --token --verbose": "tool --token --verbose",
    "tool --token=": "tool --token=",
    "tool --api-key $KEY": "tool --api-key $KEY",
    "tool --max-tokens 100 --tokenizer q1w2e3r4t5": "tool --max-tokens 100 --tokenizer q1w2e3r4t5",
    "tool --password-file q1w2e3r4": "tool --password-file q1w2e3r4",
    "env API_KEY=abc tool": "env API_KEY=[masked:named-secret] tool",
    "tool --set api_key=abc": "tool --set api_key=[masked:named-secret]",
    "tool 'my password=abc def'": "tool 'my password=abc def'",
    "curl -H 'Authorization: Bearer abc'": "curl -H 'Authorization: Bearer [masked:bearer-token]'",
    "curl --header 'X-Api-Key:  abc'": "curl --header 'X-Api-Key:  [masked:named-secret]'",
    "curl '-HX-Api-Key: abc'": "curl '-HX-Api-Key: [masked:named-secret]'",
    "curl -H 'Accept: */*'": "curl -H 'Accept: */*'",
    "curl -H @file": "curl -H @file",
    "curl -u bob:abc": "curl -u bob:[masked:basic-auth]",
    "curl -ubob:abc": "curl -ubob:[masked:basic-auth]",
    "/usr/bin/curl --user bob:abc": "/usr/bin/curl --user bob:[masked:basic-auth]",
    "curl -u bob": "curl -u bob",
    "curl -u bob:$PW": "curl -u bob:$PW",
    "curl -u -v": "curl -u -v",
    "curl -b sid=abc": "curl -b sid=[masked:cookie]",
    "curl -b cookies.txt": "curl -b cookies.txt",
    "http -a bob:abc x": "http -a bob:[masked:basic-auth] x",
    "id -u bob:abc": "id -u bob:abc",
    "mysql -pabc -u root": "mysql -p[masked:password] -u root",
    "mysql -p abc": "mysql -p abc",
    "sshpass -p abc ssh x": "sshpass -p [masked:password] ssh x",
    "redis-cli -a abc": "redis-cli -a [masked:password]",
    "docker login -u bob -p abc": "docker login -u bob -p [masked:password]",
    "docker run -p 8080:80": "docker run -p 8080:80",
    "mkdir -p a/b": "mkdir -p a/b",
    "psql postgres://a:b@c/d": "psql postgres://a:[masked:url-password]@c/d",
    f"echo {KEY}": "echo [masked:anthropic-key]",
    "bash -c 'curl -u a:b x'": "bash -c 'curl -u a:[masked:basic-auth] x'",
    "python run.py": "python run.py",
}


@pytest.mark.parametrize("line", CASES)
def test_a_command_line_is_shown_with_marks_in_place_of_secrets(line: str) -> None:
    masked = mask_command(shlex.split(line))
    assert masked.value == shlex.split(CASES[line])
    assert sum(masked.counts.values()) == CASES[line].count("[masked:")


def test_no_arguments() -> None:
    assert mask_command([]) == ([], {})


def test_the_list_given_is_not_touched() -> None:
    argv = ["tool", "--password", "abc"]
    mask_command(argv)
    assert argv == ["tool", "--password", "abc"]
