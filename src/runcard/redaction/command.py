"""Masking of a command line that is known as its list of arguments.

A telling option's value is masked whole, in the same argument or in the next; so are assignments (`KEY=value`),
headers (`-H`), and what a few programs take as a password in a short option. Every other argument is masked as text.

Invariant: as many arguments come out as went in, and each option keeps its name.
"""

from typing import NamedTuple

from runcard.redaction.marks import Masked, count, mark
from runcard.redaction.named import mask_named
from runcard.redaction.names import telling
from runcard.redaction.stream import mask_text
from runcard.redaction.values import Place, is_placeholder

_Counts = dict[str, int]


class _Short(NamedTuple):
    """A short option of some programs that takes a secret."""

    option: str
    programs: frozenset[str]
    rule: str
    after: str = ""  # the secret begins behind this
    apart: bool = True  # it may stand in the next argument


_CURL = frozenset({"curl", "wget", "http", "https", "xh", "xhs"})
_SHORTS = (
    _Short("-u", _CURL, "basic-auth", ":"),
    _Short("-U", _CURL, "basic-auth", ":"),
    _Short("--user", _CURL, "basic-auth", ":"),
    _Short("--proxy-user", _CURL, "basic-auth", ":"),
    _Short("-a", frozenset({"http", "https", "xh", "xhs"}), "basic-auth", ":"),
    _Short("-b", _CURL, "cookie", "="),
    _Short("-a", frozenset({"redis-cli"}), "password"),
    _Short("-p", frozenset({"sshpass", "docker", "podman", "oc", "ldapsearch"}), "password"),
    _Short("-w", frozenset({"ldapsearch", "ldapadd", "ldapmodify"}), "password"),
    _Short("-p", frozenset({"mysql", "mysqldump", "mysqladmin", "mariadb"}), "password", apart=False),
)
_HEADER = ("-H", "--header", "--proxy-header")


def mask_command(argv: list[str]) -> Masked[list[str]]:
    """A command line without its secrets."""
    counts: _Counts = {}
    return Masked(mask_arguments(argv, counts), counts)


def mask_arguments(argv: list[str], counts: _Counts) -> list[str]:
    masked: list[str] = []
    programs: set[str] = set()
    for argument in argv:
        before = argv[len(masked) - 1] if masked else ""
        masked.append(_argument(before, argument, programs, counts))
        programs.add(argument.rpartition("/")[2])
    return masked


def _argument(before: str, argument: str, programs: set[str], counts: _Counts) -> str:
    if _is_option(before) and "=" not in before and not argument.startswith("-") and telling(before):
        return mask_named(before, argument, counts, Place.SURE)
    if before in _HEADER and ":" in argument:
        name, sign, value = argument.partition(":")
        bare = value.lstrip(" ")
        return name + sign + value[: len(value) - len(bare)] + mask_named(name, bare, counts, Place.SURE)
    for short in _SHORTS:
        if programs & short.programs and (given := _given(short, before, argument)):
            return _shortened(short, given, argument, counts)
    name, sign, value = argument.partition("=")
    if sign and telling(name) and not any(character.isspace() for character in name):
        return name + sign + mask_named(name, value, counts, Place.SURE)
    masked = mask_text(argument)
    count(counts, masked.counts)
    return masked.value


def _is_option(argument: str) -> bool:
    return len(argument) > 2 and argument.startswith("-")


def _given(short: _Short, before: str, argument: str) -> str:
    """What `argument` gives to the option, when it does: its end, or all of it behind the option."""
    if before == short.option and short.apart and not argument.startswith("-"):
        return argument.partition(short.after)[2] if short.after else argument
    if argument.startswith(short.option) and not argument.startswith("--"):
        rest = argument[len(short.option) :]
        return rest.partition(short.after)[2] if short.after else rest
    return ""


def _shortened(short: _Short, given: str, argument: str, counts: _Counts) -> str:
    if is_placeholder(given):
        return argument
    count(counts, {short.rule: 1})
    return argument[: len(argument) - len(given)] + mark(short.rule)
