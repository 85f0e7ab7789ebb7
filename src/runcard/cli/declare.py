"""Commands that are declared without click, whose import takes as long as showing a record.

The decorators take what those of click take, except that a type is the name of one in `cli.options`. A command line that
is right is parsed here. For any other, and for `--help`, `cli.lazy_group` makes a click command of the same
declaration; a test compares the two.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from runcard.encoding.json.types import JsonObject

_PLAIN_TYPES = {None, "PATH", "PATH_OR_DASH", "RECORD"}  # click hands these values over as they are
_VERBOSITY = {"-q": "quiet", "--quiet": "quiet", "-v": "verbose", "--verbose": "verbose"}


class DeclaredParameter:
    """An option or an argument: what click is to be given for it."""

    def __init__(self, kind: str, names: tuple[str, ...], settings: JsonObject) -> None:
        self.kind, self.names, self.settings = kind, names, settings

    def __call__(self, function: "Decorated") -> "Decorated":
        """As a decorator."""
        function.__dict__.setdefault("parameters", []).insert(0, self)
        return function

    @property
    def name(self) -> str:
        """Of the argument of the function."""
        plain = [name for name in self.names if not name.startswith("-")]
        longest = max(self.names, key=lambda name: len(name) - len(name.lstrip("-")))
        return plain[0] if plain else longest.lstrip("-").replace("-", "_")

    @property
    def is_flag(self) -> bool:
        return bool(self.settings.get("is_flag"))

    @property
    def is_plain(self) -> bool:
        """Whether its values need no check and no conversion."""
        return self.settings.get("type") in _PLAIN_TYPES

    @property
    def takes_rest(self) -> bool:
        return self.settings.get("nargs") == -1

    @property
    def default(self) -> object:
        return False if self.is_flag else self.settings.get("default")


Decorated = TypeVar("Decorated", bound=Callable[..., object])


class DeclaredCommand:
    """A command: its function, which returns the exit code, and its parameters."""

    def __init__(self, name: str, function: Callable[..., int]) -> None:
        self.name, self.function = name, function
        self.parameters: list[DeclaredParameter] = function.__dict__.pop("parameters", [])

    def parse(self, words: Sequence[str]) -> JsonObject | None:
        """The arguments of the function, with `quiet` and `verbose`; None for a command line that click is to judge."""
        options = {name: each for each in self.parameters for name in each.names if name.startswith("-")}
        values: JsonObject = {each.name: each.default for each in options.values()}
        verbosity = {"quiet": False, "verbose": False}
        rest, waiting = [], list(words)
        while waiting:
            word = waiting.pop(0)
            if word == "--":
                rest += waiting
                break
            if not word.startswith("-") or word == "-":
                rest.append(word)
            elif word in _VERBOSITY:
                verbosity[_VERBOSITY[word]] = True
            elif (given := _value(options, word, waiting)) is not None:
                values[given[0]] = given[1]
            else:
                return None
        arguments = self._arguments(rest)
        return None if arguments is None or all(verbosity.values()) else values | arguments | verbosity

    def _arguments(self, words: list[str]) -> JsonObject | None:
        """The values of the arguments, the last of which may take several; None if there are too few or too many."""
        values: JsonObject = {}
        for each in self.parameters:
            if each.kind == "argument":
                taken = len(words) if each.takes_rest else 1
                if len(words) < taken or (not words and each.settings.get("required", False)):
                    return None
                values[each.name] = tuple(words) if each.takes_rest else words[0]
                words = words[taken:]
        return None if words or "" in values.values() else values


def _value(
    options: dict[str, DeclaredParameter], word: str, waiting: list[str]
) -> tuple[str, bool | str] | None:
    """The name and the value of an option; None for a word that click is to judge."""
    name, sign, value = word.partition("=")
    option = options.get(name)
    if option is None or (sign and (option.is_flag or not name.startswith("--"))):
        return None
    if option.is_flag:
        return option.name, True
    if not option.is_plain or option.settings.get("multiple"):
        return None
    if not sign:
        value = waiting.pop(0) if waiting else ""
    return (option.name, value) if value and not value.startswith("-") else None


def command(name: str) -> Callable[[Callable[..., int]], DeclaredCommand]:
    return lambda function: DeclaredCommand(name, function)


def argument(name: str, **settings: Any) -> DeclaredParameter:  # noqa: ANN401 - as click has them
    return DeclaredParameter("argument", (name,), settings)


def option(*names: str, **settings: Any) -> DeclaredParameter:  # noqa: ANN401 - as click has them
    return DeclaredParameter("option", names, settings)


kind_option = option("--kind", type="KIND", help="Kind of the document. Default: detected from its content.")
json_option = option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
outputs_option = option(
    "--outputs", metavar="DIR", type="PATH", help="Store of runs. Default: the setting `outputs`."
)
artifacts_option = option(
    "--artifacts", metavar="DIR", type="PATH", help="Store of sessions. Default: the setting `artifacts.dir`."
)
dry_run_option = option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
progress_option = option(
    "--progress", "shows_progress", is_flag=True, help="Show progress even if stderr is not a terminal."
)
