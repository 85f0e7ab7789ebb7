"""What each program needs so that its model calls pass the relay: variables of its environment, options of its command.

Every command gets the variables of `VARIABLES`. A program that needs more has a module here, found by its name in
`known_programs`; only that one is loaded. A base URL of the user's own, wherever it comes from, is where the relay sends
requests on to. Files of the user are read and never written.

Invariant: what cannot be adapted with certainty is left as it is, and is listed as a gap.
"""

import os
from collections.abc import Callable
from typing import NamedTuple

from runcard.observe.meter.routes import METER, Routes, UnusableUrlError, split_url, true_url, upstreams_in

# For the program, with --witness proxy: a JSON object, the variables that this set, and those of the user in their place.
WITNESS_PROXY = "RUNCARD_WITNESS_PROXY"
CLAUDE_CODE = "Claude Code"  # the name of a known program

# Part of the path of a program that has a module here, or of its package.
MARKS = ("claude", "codex", "gemini", "opencode")
PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_OF_HTTPS = ("HTTPS_PROXY", "https_proxy", "WSS_PROXY", "wss_proxy")
_EXEMPT = ("NO_PROXY", "no_proxy")
_LOOPBACK = "127.0.0.1"
BASE_URL = "ANTHROPIC_BASE_URL"
OPENAI_URL = "OPENAI_BASE_URL"
GEMINI_URL = "GOOGLE_GEMINI_BASE_URL"
ANTHROPIC = "https://api.anthropic.com"
FIRST_PARTY = {
    "ENABLE_TOOL_SEARCH": "true",
    "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL": "1",
}  # of Claude Code
# Node does not check certificates if this is 0. Other programs do not know it.
UNCHECKED = "NODE_TLS_REJECT_UNAUTHORIZED"
_NODE = frozenset({"node", "npx", "npm", "pnpm", "yarn", "bun", "bunx", "tsx"})
_NOT_IN_NODE = (None, "Codex")
_RUNNERS = _NODE | {"sh", "bash", "dash", "zsh", "ksh", "fish", "make", "just", "xargs", "gemini"}
_AZURE = ("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY", "OPENAI_API_VERSION")
_MISTRAL = "https://api.mistral.ai"


class BaseUrlVariable(NamedTuple):
    """A variable that libraries read their base URL from."""

    name: str
    provider: str
    default: (
        str | None
    )  # the base URL without the variable; None: the variable is only used if the user has set it


VARIABLES = (
    BaseUrlVariable(BASE_URL, "anthropic", ANTHROPIC),
    BaseUrlVariable("ANTHROPIC_FOUNDRY_BASE_URL", "foundry", None),
    BaseUrlVariable(OPENAI_URL, "openai", "https://api.openai.com/v1"),
    BaseUrlVariable("OPENAI_API_BASE", "openai", None),  # clients for Azure refuse to start if it is set
    BaseUrlVariable(GEMINI_URL, "google", "https://generativelanguage.googleapis.com"),
    BaseUrlVariable("GROQ_BASE_URL", "groq", "https://api.groq.com"),
    BaseUrlVariable("CEREBRAS_BASE_URL", "cerebras", "https://api.cerebras.ai"),
    BaseUrlVariable("MISTRAL_BASE_URL", "mistral", _MISTRAL),
    # Of LiteLLM. A path may begin with the version or not: the relay knows what belongs in front of it.
    BaseUrlVariable("ANTHROPIC_API_BASE", "anthropic", None),
    BaseUrlVariable("GEMINI_API_BASE", "google", "https://generativelanguage.googleapis.com"),
    BaseUrlVariable("GROQ_API_BASE", "groq", "https://api.groq.com"),
    BaseUrlVariable("CEREBRAS_API_BASE", "cerebras", "https://api.cerebras.ai"),
    BaseUrlVariable("MISTRAL_API_BASE", "mistral", _MISTRAL),
    BaseUrlVariable("MISTRAL_AZURE_API_BASE", "mistral", _MISTRAL),  # it reads only this one for chats
    BaseUrlVariable("XAI_API_BASE", "xai", "https://api.x.ai"),
    BaseUrlVariable("OPENROUTER_API_BASE", "openrouter", "https://openrouter.ai"),
    BaseUrlVariable("DEEPSEEK_API_BASE", "deepseek", "https://api.deepseek.com"),
    BaseUrlVariable("FIREWORKS_API_BASE", "fireworks", "https://api.fireworks.ai"),
    BaseUrlVariable("TOGETHER_AI_API_BASE", "together", "https://api.together.ai"),
    BaseUrlVariable("PERPLEXITY_API_BASE", "perplexity", "https://api.perplexity.ai"),
    BaseUrlVariable("MOONSHOT_API_BASE", "moonshot", "https://api.moonshot.ai"),
    BaseUrlVariable("TOGETHER_BASE_URL", "together", None),  # its client works differently if it is set
)


class MeterGap(NamedTuple):
    """Calls that do not pass the relay."""

    reason: str
    hint: str | None = None


class Adaptation:
    """What a command gets so that it calls the relay: other arguments, and variables over those of its environment."""

    def __init__(
        self,
        arguments: list[str],
        given: dict[str, str],
        routes: Routes,
        directory: str,
        write_private: Callable[[bytes], str],
    ) -> None:
        """`write_private` writes a file that only this user can read, for the time of the run; returns its path."""
        self.arguments = list(arguments)
        self.given = given  # the environment of the program without the meter
        self.variables: dict[str, str] = {}  # what the meter sets
        self.routes = routes
        self.directory = directory  # where the program runs
        self.write_private = write_private
        self.upstream_environment = given  # proxies and certificates of the program, for the relay
        self.client: str | None = None  # the known program that is run: `Claude Code`
        self.expects_calls = False  # whether this program calls models when it is run like this
        self.gaps: list[MeterGap] = []

    def url(self, name: str, upstream: str, where: str) -> str | None:
        """The URL of the relay for a base URL; None, and a gap, for one that cannot be used. `where` it comes from."""
        try:
            return self.routes.url(name, upstream)
        except UnusableUrlError as error:
            self.gaps.append(MeterGap(f"{where} is left as it is: {error}", f"correct {where}"))
            return None

    def set_variables(self) -> None:
        """Set the variables that libraries read their base URL from."""
        for variable in VARIABLES:
            given = self.given.get(variable.name, "").strip()
            upstream = given or variable.default
            if not given and self._does_harm(variable.name):
                upstream = None
            if upstream is not None and (url := self.url(variable.provider, upstream, variable.name)):
                self.variables[variable.name] = url
        self.say_first_party(self.given)

    def say_first_party(self, environment: dict[str, str]) -> None:
        """Let Claude Code know that its requests reach Anthropic's own host, as they do without the relay.

        At other hosts it turns tool search off, takes a larger model for small tasks, and leaves out headers.
        """
        for name, value in FIRST_PARTY.items():
            self.variables.pop(name, None)
            if _is_anthropic(environment.get(BASE_URL, "")) and not environment.get(name):
                self.variables[name] = value

    def _does_harm(self, name: str) -> bool:
        """Whether a program would break if this variable is set."""
        if name == OPENAI_URL:
            return self._uses_azure()
        return name == GEMINI_URL and self._may_run_others() and self._has_gemini_cli_without_login()

    def _may_run_others(self) -> bool:
        """Whether the command is a script, or runs other programs."""
        name = os.path.basename(self.arguments[0])
        return name in _RUNNERS or name.endswith(".sh")

    def _has_gemini_cli_without_login(self) -> bool:
        """Gemini CLI refuses to start if the variable is set and its settings do not say how it logs in."""
        folders = self.given.get("PATH", "").split(os.pathsep)
        if not any(os.path.exists(os.path.join(folder, "gemini")) for folder in folders if folder):
            return False
        from runcard.observe.meter.adapters.gemini_cli import without_login  # noqa: PLC0415 - few have it

        gap = without_login(self.given, self.directory)
        if gap is not None and (self.given.get("GEMINI_API_KEY") or self.given.get("GOOGLE_API_KEY")):
            self.gaps.append(gap)
        return gap is not None

    def _uses_azure(self) -> bool:
        """Whether calls of `openai` may be for Azure: its clients take the variable for theirs, or refuse to start."""
        names = [name for name in _AZURE if self.given.get(name)]
        if self.given.get("OPENAI_API_TYPE", "").startswith("azure"):
            names.append("OPENAI_API_TYPE")
        if names:
            reason = f"{names[0]} is set, so OPENAI_BASE_URL is not: calls of OpenAI and Azure do not pass the meter"
            self.gaps.append(
                MeterGap(reason, "record them with runcard.watch, or set OPENAI_BASE_URL yourself")
            )
        return bool(names)

    def use_proxy(self, url: str) -> dict[str, str]:
        """The variables that let the program, and what it starts, reach https hosts through a proxy of the run."""
        import json  # noqa: PLC0415 - only with --witness proxy

        proxies = dict.fromkeys(_OF_HTTPS, url)
        self.exempt_from_proxies(self.given | proxies)
        proxies |= {name: self.variables[name] for name in _EXEMPT if name in self.variables}
        before = {name: self.given[name] for name in proxies if name in self.given}
        return proxies | {WITNESS_PROXY: json.dumps({"set": proxies, "before": before})}

    def exempt_from_proxies(self, environment: dict[str, str]) -> None:
        """A program with this environment calls the relay without its HTTP proxies."""
        if not any(environment.get(name) or environment.get(name.upper()) for name in PROXIES):
            return
        for name, other in (_EXEMPT, _EXEMPT[::-1]):
            hosts = environment.get(name) or environment.get(other) or ""
            if hosts.strip() != "*" and _LOOPBACK not in hosts.replace(" ", "").split(","):
                self.variables[name] = f"{hosts},{_LOOPBACK}" if hosts else _LOOPBACK


def adapt(adaptation: Adaptation, program: str) -> None:
    """Adapt a command; `program` is the file of its first word. The environment is that of the user: `without_outer_meter`."""
    file = os.path.realpath(program)
    if any(mark in word for word in [*adaptation.arguments, file] for mark in MARKS):
        from runcard.observe.meter.adapters.known_programs import adapt_program  # noqa: PLC0415 - few are known

        adapt_program(adaptation, file)
    else:
        adaptation.set_variables()
        adaptation.exempt_from_proxies(adaptation.given)
    if adaptation.client in _NOT_IN_NODE and os.path.basename(file) not in _NODE:
        environment = adaptation.upstream_environment
        adaptation.upstream_environment = {k: v for k, v in environment.items() if k != UNCHECKED}


def _is_anthropic(url: str) -> bool:
    try:
        return not url.strip() or split_url(url).origin == ANTHROPIC
    except UnusableUrlError:
        return False


def without_outer_meter(environment: dict[str, str]) -> dict[str, str]:
    """The environment with the true upstreams in place of the relay of an enclosing run, which has a meter too; and without its proxy."""
    environment = _without_outer_proxy(environment)
    outer = upstreams_in(environment.get(METER))
    if not outer:
        return environment
    return {
        name: true_url(value, outer) if value.startswith("http") else value
        for name, value in environment.items()
        if name != METER
    }


def without_variables(
    environment: dict[str, str], is_set: dict[str, str], before: dict[str, str]
) -> dict[str, str]:
    """The environment without variables that were set, but for those that have another value now; `before` has those in their place."""
    changed = {name for name, value in is_set.items() if environment.get(name) == value}
    return {
        name: before[name] if name in changed else value
        for name, value in environment.items()
        if name not in changed or name in before
    }


def _without_outer_proxy(environment: dict[str, str]) -> dict[str, str]:
    """The environment with the user's own proxies in place of that of an enclosing run."""
    value = environment.get(WITNESS_PROXY)
    if not value:
        return environment
    from runcard.encoding import decode_json  # noqa: PLC0415 - few programs have it
    from runcard.errors import EncodingError  # noqa: PLC0415

    rest = {name: text for name, text in environment.items() if name != WITNESS_PROXY}
    try:
        match decode_json(value.encode("utf-8", "surrogateescape")):
            case {"set": dict(is_set), "before": dict(before)} if all(
                type(text) is str for text in before.values()
            ):
                return without_variables(rest, is_set, before)
    except EncodingError:
        pass
    return rest
