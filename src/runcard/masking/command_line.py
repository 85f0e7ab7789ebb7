"""Masking of a command line as a list of arguments.

The value of an option with a secret name is masked whole, in the same argument or in the next; so are assignments
(`KEY=value`), headers (`-H`), and the passwords of a few programs' options (`_PASSWORD_OPTIONS`). Every other argument is
masked as text. `command_text` does the same for a command line within a text.

Invariant: the number of arguments stays, and each option keeps its name.
"""

from typing import NamedTuple

from runcard.masking.marks import Masked, add_counts, mark
from runcard.masking.masker import mask_text, may_need_masking
from runcard.masking.named_value import mask_named
from runcard.masking.secret_names import name_hint
from runcard.masking.secret_values import ValueContext, is_placeholder

_Counts = dict[str, int]


class _PasswordOption(NamedTuple):
    """An option that takes a secret, of some programs only."""

    option: str
    programs: frozenset[str]
    rule: str
    after: str = ""  # the secret starts after this
    separate: bool = True  # it may be in the next argument
    attached: bool = True  # it may be in the same argument
    needs: str = ""  # an argument that must be present: `docker login -p`, but not `docker run -p`


_CURL = frozenset({"curl"})
_HTTPIE = frozenset({"http", "https", "xh", "xhs"})
_MYSQL = frozenset({"mysql", "mysqldump", "mysqladmin", "mariadb"})
_REGISTRY = frozenset({"docker", "podman", "oc", "helm"})
_PASSWORD_OPTIONS = (
    _PasswordOption("-u", _CURL, "basic-auth", ":"),
    _PasswordOption("-U", _CURL, "basic-auth", ":"),
    _PasswordOption("--user", _CURL, "basic-auth", ":", attached=False),
    _PasswordOption("--proxy-user", _CURL, "basic-auth", ":", attached=False),
    _PasswordOption("-b", _CURL, "cookie", "="),
    _PasswordOption("-a", _HTTPIE, "basic-auth", ":", attached=False),
    _PasswordOption("-a", frozenset({"redis-cli"}), "password", attached=False),
    _PasswordOption("-p", frozenset({"sshpass"}), "password"),
    _PasswordOption("-p", _REGISTRY, "password", needs="login"),
    _PasswordOption("-p", _MYSQL, "password", separate=False),
    _PasswordOption("-w", frozenset({"ldapsearch", "ldapadd", "ldapmodify"}), "password", attached=False),
)
_HEADERS = ("-H", "--header", "--proxy-header")


def mask_command(argv: list[str]) -> Masked[list[str]]:
    """A command line without its secrets."""
    counts: _Counts = {}
    quiet = not may_need_masking("\n".join(argv))
    return Masked(mask_arguments(argv, counts, quiet=quiet), counts)


def mask_arguments(argv: list[str], counts: _Counts, *, quiet: bool) -> list[str]:
    """The same, adding to `counts`; `quiet` as in `mask_named`."""
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
    """Whether a text in a list may be an option or an assignment."""
    return text.startswith("-") or "=" in text


def _secret_argument(before: str, argument: str, words: set[str], counts: _Counts) -> str | None:
    """`argument` masked by its meaning in this command; None when it has none."""
    if _is_option(before) and "=" not in before and not argument.startswith("-") and name_hint(before):
        return mask_named(before, argument, counts, ValueContext.SURE)
    if before in _HEADERS or argument.startswith("-H"):
        return _header(argument, counts)
    for option in _PASSWORD_OPTIONS if "-" in {before[:1], argument[:1]} else ():
        if (
            words & option.programs
            and option.needs in {"", *words}
            and (secret := _option_value(option, before, argument))
        ):
            return _mask_option(option, secret, argument, counts)
    name, sign, value = argument.partition("=")
    if sign and name_hint(name) and name.split() == [name]:
        return name + sign + mask_named(name, value, counts, ValueContext.SURE)
    return None


def _text(argument: str, counts: _Counts, *, quiet: bool) -> str:
    masked = Masked(argument, {}) if quiet else mask_text(argument)
    add_counts(counts, masked.counts)
    return masked.value


def _is_option(argument: str) -> bool:
    return len(argument) > 2 and argument.startswith("-")


def _header(argument: str, counts: _Counts) -> str:
    """`Name: value`, with or without `-H`."""
    name, sign, value = argument.partition(":")
    bare = value.lstrip(" ")
    space = value[: len(value) - len(bare)]
    return name + sign + space + mask_named(name.removeprefix("-H"), bare, counts, ValueContext.SURE)


def _option_value(option: _PasswordOption, before: str, argument: str) -> str:
    """The secret in `argument`, if it is the option's: always the end of it."""
    if before == option.option and option.separate and not argument.startswith("-"):
        value = argument
    elif option.attached and argument.startswith(option.option):
        value = argument[len(option.option) :]
    else:
        return ""
    return value.partition(option.after)[2] if option.after else value


def _mask_option(option: _PasswordOption, secret: str, argument: str, counts: _Counts) -> str:
    if is_placeholder(secret):
        return argument
    add_counts(counts, {option.rule: 1})
    return argument[: len(argument) - len(secret)] + mark(option.rule)
