"""Which known program a command runs, also through `env`, `npx`, `node`, `timeout` and the like, a path or a link.

A program that a script or a shell starts is not found: it gets the variables only.
"""

import os
import re
from collections.abc import Callable

from runcard.observe.meter.adapters import CLAUDE_CODE, Adaptation

# The packages of the programs at npm.
_PACKAGES = {
    "@anthropic-ai/claude-code": "claude",
    "@openai/codex": "codex",
    "@google/gemini-cli": "gemini",
    "opencode-ai": "opencode",
}
_TITLES = {"claude": CLAUDE_CODE, "codex": "Codex", "gemini": "Gemini CLI", "opencode": "OpenCode"}
_NAMES = frozenset(_PACKAGES.values())
_PACKAGE_PATH = re.compile(r"/node_modules/(@[^/]+/[^/]+|[^/]+)/(?!.*/node_modules/)")
_CLAUDE_VERSIONS = "/claude/versions/"  # where its installer puts it; the name of the file is its version

# Programs that run the rest of their arguments, and those of their options whose value is the next word.
_WRAPPERS = {
    "env": {"-u", "--unset", "-C", "--chdir"},
    "nice": {"-n", "--adjustment"},
    "nohup": set[str](),
    "setsid": set[str](),
    "stdbuf": {"-i", "-o", "-e", "--input", "--output", "--error"},
    "time": {"-f", "--format", "-o", "--output"},
    "timeout": {"-k", "--kill-after", "-s", "--signal"},
    "node": {"-r", "--require", "--import", "--loader"},
    "bun": set[str](),
}
_INSTALLERS = {"npx": {"-p", "--package", "-w", "--workspace"}, "bunx": {"-p", "--package"}}
_INSTALLER_COMMANDS = {"npm": {"exec", "x"}, "pnpm": {"dlx", "exec"}, "yarn": {"dlx", "exec"}, "bun": {"x"}}
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


class ProgramCall:
    """A command in parts: what is in front of a known program, and the arguments of the program."""

    def __init__(self, arguments: list[str], file: str) -> None:
        """`file` is that of the first word, links resolved."""
        self.name: str | None = None  # of the known program; None: there is none
        self.assignments: dict[str, int] = {}  # variables that `env` sets: the positions of their words
        self.removed: set[str] = set()  # variables that `env` removes
        self.removes_all = False
        self._arguments = arguments
        self.position = 0  # of the word that is looked at; in the end, of the program's first argument
        while self.name is None and self.position < len(arguments):
            word = arguments[self.position]
            is_path = "/" in word
            path = file if self.position == 0 else os.path.realpath(word) if is_path else ""
            self.position += 1
            self.name = _by_name(os.path.basename(word)) or _by_path(path)
            if self.name is None and not self._enter(os.path.basename(word)):
                break

    def _enter(self, name: str) -> bool:
        """Go on to the program that this one runs; False if it runs none that can be known."""
        following = self._arguments[self.position : self.position + 1]
        if following and following[0] in _INSTALLER_COMMANDS.get(name, ()):
            self.position, name = self.position + 1, "npx"
        if name in _INSTALLERS:
            self._skip_options(_INSTALLERS[name])
            self.name = _by_package("".join(self._arguments[self.position : self.position + 1]))
            self.position += 1
            return False
        if name not in _WRAPPERS:
            return False
        options = self._skip_options(_WRAPPERS[name])
        if name == "env":
            self._read_env(options)
        elif name == "timeout":
            self.position += 1  # its duration
        return True

    def _skip_options(self, with_value: set[str]) -> list[str]:
        """Go past the options; returns them."""
        start = self.position
        while (word := "".join(self._arguments[self.position : self.position + 1])).startswith("-"):
            self.position += 2 if word in with_value else 1
            if word == "--":
                break
        return self._arguments[start : self.position]

    def _read_env(self, options: list[str]) -> None:
        for word, following in zip(options, [*options, ""][1:], strict=True):
            if word in {"-", "-i", "--ignore-environment"}:
                self.removes_all = True
            elif word in {"-u", "--unset"}:
                self.removed.add(following)
            elif word.startswith(("-u", "--unset=")):
                self.removed.add(word.removeprefix("--unset=").removeprefix("-u"))
        while self.position < len(self._arguments) and _ASSIGNMENT.match(self._arguments[self.position]):
            name, _, _ = self._arguments[self.position].partition("=")
            self.assignments[name] = self.position
            self.position += 1

    def environment(self, given: dict[str, str]) -> dict[str, str]:
        """The environment of the program, of that of the command."""
        kept = {} if self.removes_all else {k: v for k, v in given.items() if k not in self.removed}
        values = {name: self._arguments[at].partition("=")[2] for name, at in self.assignments.items()}
        return kept | values

    def with_changes(self, arguments: list[str], variables: dict[str, str]) -> list[str]:
        """The command with these arguments of the program, and with variables as words for `env` where it has a say."""
        words = list(self._arguments[: self.position])
        for name, at in self.assignments.items():
            words[at] = f"{name}={variables.get(name, words[at].partition('=')[2])}"
        lost = variables if self.removes_all else {k: v for k, v in variables.items() if k in self.removed}
        added = [f"{name}={value}" for name, value in lost.items() if name not in self.assignments]
        end = max(self.assignments.values(), default=self.position - 2) + 1
        return [*words[:end], *added, *words[end:], *arguments]


def _by_name(name: str) -> str | None:
    bare = name.removesuffix(".exe")
    return bare if bare in _NAMES else None


def _by_path(path: str) -> str | None:
    """The program in a file, links resolved: by its name, or by the package that the file is a part of."""
    if _CLAUDE_VERSIONS in path:
        return "claude"
    match = _PACKAGE_PATH.search(path)
    return _by_package(match[1]) if match is not None else _by_name(os.path.basename(path))


def _by_package(word: str) -> str | None:
    """The program of a package, with or without a version; `npx` also takes the program's own name."""
    package = word[: word.rindex("@")] if "@" in word[1:] else word
    start = next((name for name in _PACKAGES if package == name or package.startswith(f"{name}-")), None)
    return _PACKAGES[start] if start else _by_name(package)


def client_of(words: list[str]) -> str | None:
    """The known program that a process runs, by its words."""
    name = ProgramCall(words, words[0]).name
    return None if name is None else _TITLES[name]


def adapt_program(adaptation: Adaptation, file: str) -> None:
    """Adapt a command with the module of the known program that it runs, if it does; `file` is that of its first word."""
    call = ProgramCall(adaptation.arguments, file)
    if call.name is not None:
        adaptation.given = adaptation.upstream_environment = call.environment(adaptation.given)
    adaptation.set_variables()
    adaptation.exempt_from_proxies(adaptation.given)
    if call.name is not None:
        own = _adapter(call.name)(adaptation, adaptation.arguments[call.position :])
        adaptation.arguments = call.with_changes(own, adaptation.variables)


def _adapter(name: str) -> Callable[[Adaptation, list[str]], list[str]]:
    """Loads the module of a program."""
    if name == "claude":
        from runcard.observe.meter.adapters.claude_code import adapt_claude_code  # noqa: PLC0415

        return adapt_claude_code
    if name == "codex":
        from runcard.observe.meter.adapters.codex import adapt_codex  # noqa: PLC0415

        return adapt_codex
    if name == "gemini":
        from runcard.observe.meter.adapters.gemini_cli import adapt_gemini_cli  # noqa: PLC0415

        return adapt_gemini_cli
    from runcard.observe.meter.adapters.opencode import adapt_opencode  # noqa: PLC0415

    return adapt_opencode
