"""Masking of a command line that is known as its list of arguments.

A secret option's value is masked whole, in the same argument or in the next; so are assignments (`KEY=value`),
headers (`-H`), and what a few programs take as a password in a short option. Every other argument is masked as text.

Invariant: as many arguments come out as went in, and each option keeps its name.
"""

from typing import NamedTuple

from runcard.masking.marks import Masked, count, mark
from runcard.masking.masker import mask_text, may_need_masking
from runcard.masking.named_value import mask_named
from runcard.masking.secret_names import name_hint
from runcard.masking.secret_values import ValueContext, is_placeholder

_Counts = dict[str, int]


class _Short(NamedTuple):
    """An option that takes a secret, of some programs only."""

    option: str
    programs: frozenset[str]
    rule: str
    after: str = ""  # the secret begins behind this
    apart: bool = True  # it may stand in the next argument
    attached: bool = True  # it may stand in the same
    needs: str = (
        ""  # a word of the command that makes it a secret: `docker login -p`, but not `docker run -p`
    )


_CURL = frozenset({"curl"})
_HTTPIE = frozenset({"http", "https", "xh", "xhs"})
_MYSQL = frozenset({"mysql", "mysqldump", "mysqladmin", "mariadb"})
_REGISTRY = frozenset({"docker", "podman", "oc", "helm"})
_SHORTS = (
    _Short("-u", _CURL, "basic-auth", ":"),
    _Short("-U", _CURL, "basic-auth", ":"),
    _Short("--user", _CURL, "basic-auth", ":", attached=False),
    _Short("--proxy-user", _CURL, "basic-auth", ":", attached=False),
    _Short("-b", _CURL, "cookie", "="),
    _Short("-a", _HTTPIE, "basic-auth", ":", attached=False),
    _Short("-a", frozenset({"redis-cli"}), "password", attached=False),
    _Short("-p", frozenset({"sshpass"}), "password"),
    _Short("-p", _REGISTRY, "password", needs="login"),
    _Short("-p", _MYSQL, "password", apart=False),
    _Short("-w", frozenset({"ldapsearch", "ldapadd", "ldapmodify"}), "password", attached=False),
)
_HEADERS = ("-H", "--header", "--proxy-header")


def mask_command(argv: list[str]) -> Masked[list[str]]:
    """A command line without its secrets."""
    counts: _Counts = {}
    quiet = not may_need_masking("\n".join(argv))
    return Masked(mask_arguments(argv, counts, quiet=quiet), counts)


def mask_arguments(argv: list[str], counts: _Counts, *, quiet: bool) -> list[str]:
    """The same, adding what was masked to `counts`; `quiet` as in `mask_named`."""
    if quiet and not any(map(is_argument, argv)):
        return list(argv)
    masked: list[str] = []
    words: set[str] = set()
    for before, argument in zip(["", *argv], argv, strict=False):
        secret = _secret_argument(before, argument, words, counts)
        masked.append(_text(argument, counts, quiet=quiet) if secret is None else secret)
        words.add(argument.rpartition("/")[2])
    return masked


def is_argument(text: str) -> bool:
    """Whether a text in a list may mean more than its words: an option, or an assignment."""
    return text.startswith("-") or "=" in text


def _secret_argument(before: str, argument: str, words: set[str], counts: _Counts) -> str | None:
    """`argument` masked for what it means in this command; None when it means nothing special."""
    if _is_option(before) and "=" not in before and not argument.startswith("-") and name_hint(before):
        return mask_named(before, argument, counts, ValueContext.SURE)
    if before in _HEADERS or argument.startswith("-H"):
        return _header(argument, counts)
    for short in _SHORTS if "-" in {before[:1], argument[:1]} else ():
        if (
            words & short.programs
            and short.needs in {"", *words}
            and (given := _given(short, before, argument))
        ):
            return _shortened(short, given, argument, counts)
    name, sign, value = argument.partition("=")
    if sign and name_hint(name) and name.split() == [name]:
        return name + sign + mask_named(name, value, counts, ValueContext.SURE)
    return None


def _text(argument: str, counts: _Counts, *, quiet: bool) -> str:
    masked = Masked(argument, {}) if quiet else mask_text(argument)
    count(counts, masked.counts)
    return masked.value


def _is_option(argument: str) -> bool:
    return len(argument) > 2 and argument.startswith("-")


def _header(argument: str, counts: _Counts) -> str:
    """`Name: value`, with `-H` before it or not."""
    name, sign, value = argument.partition(":")
    bare = value.lstrip(" ")
    space = value[: len(value) - len(bare)]
    return name + sign + space + mask_named(name.removeprefix("-H"), bare, counts, ValueContext.SURE)


def _given(short: _Short, before: str, argument: str) -> str:
    """The secret that `argument` gives to the option, when it does: always its end."""
    if before == short.option and short.apart and not argument.startswith("-"):
        given = argument
    elif short.attached and argument.startswith(short.option):
        given = argument[len(short.option) :]
    else:
        return ""
    return given.partition(short.after)[2] if short.after else given


def _shortened(short: _Short, given: str, argument: str, counts: _Counts) -> str:
    if is_placeholder(given):
        return argument
    count(counts, {short.rule: 1})
    return argument[: len(argument) - len(given)] + mark(short.rule)
