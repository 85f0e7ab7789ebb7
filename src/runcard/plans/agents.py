"""The agents that work on a plan: their order, and what each reads, may write and must do.

The order is a pipeline: an agent begins when its predecessor has left its marker. Only this module knows the order.
"""

from dataclasses import dataclass

from runcard.encoding import JsonObject
from runcard.errors import UsageError
from runcard.files import printable

SECTIONS = (
    "format_version",
    "analyzer",
    "validation",
    "test_level",
    "target",
    "characteristics",
    "factories_detected",
    "automation",
)


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent of the pipeline."""

    name: str
    reads: tuple[str, ...]
    duty: tuple[str, ...]
    sections: tuple[str, ...] = ()  # that it may write
    keys: tuple[str, ...] = ()  # of `automation` that it may write, besides those that begin with its name
    writes: bool = True

    @property
    def prefix(self) -> str:
        """The prefix of its keys in `automation`."""
        return self.name.replace("-", "_") + "_"

    @property
    def marker(self) -> str:
        return f"{self.prefix}completed"

    @property
    def markers(self) -> tuple[str, ...]:
        """The keys of `automation` that mark its work as done; the first is the documented one."""
        return ("skeleton_generated", self.marker) if self.name == "skeleton" else (self.marker,)

    @property
    def writable(self) -> tuple[str, ...]:
        """The sections and keys that it may write."""
        if not self.writes:
            return ()
        own = (f"automation.{self.prefix}*", *(f"automation.{key}" for key in self.keys))
        return (*self.sections, *own, "automation.errors", "automation.warnings")

    def owns(self, section: str, key: str | None = None) -> bool:
        """Whether it may write a section, or a key of `automation`."""
        if not self.writes:
            return False
        if section != "automation" or key is None:
            return section in self.sections
        return key.startswith(self.prefix) or key in {*self.keys, "errors", "warnings"}

    def is_done(self, plan: JsonObject) -> bool:
        """Whether it has left its marker in a plan."""
        automation, section = plan.get("automation"), plan.get(_RESULT_SECTIONS.get(self.name, ""))
        if isinstance(section, dict) and section.get("completed") is True and not section.get("errors"):
            return True
        markers = (*self.markers, *_OTHER_MARKERS.get(self.name, ()))
        return isinstance(automation, dict) and any(automation.get(key) is True for key in markers)


_OTHER_MARKERS = {"validator": ("validation_passed",)}  # keys of `automation` that other tools write
_RESULT_SECTIONS = {"analyzer": "analyzer", "validator": "validation"}  # with a key `completed`

_ALL = (
    Agent(
        name="analyzer",
        reads=("the source file",),
        duty=(
            "run `runcard plan analyze --write`, which finds the conditions of the method by parsing",
            "find the characteristics of the method: what its behaviour depends on, and the states of each",
            "record the source's modification time in whole seconds, its size and its SHA-256",
            "set analyzer.completed to true when the analysis is complete",
        ),
        sections=(
            "format_version",
            "analyzer",
            "test_level",
            "target",
            "characteristics",
            "factories_detected",
        ),
        keys=("factories_detected",),
    ),
    Agent(
        name="validator",
        reads=("the whole plan", "the source file"),
        duty=("run `runcard plan validate`", "do not pass a plan with errors"),
        sections=("validation",),
        keys=("validation_passed",),
    ),
    Agent(
        name="skeleton",
        reads=("target", "characteristics"),
        duty=(
            "run `runcard plan skeleton`, which writes the spec of the class, or adds what is missing in it",
            "or write a context for each state yourself, and put the path of the spec into automation.skeleton_file",
        ),
    ),
    Agent(
        name="architect",
        reads=("characteristics", "target and the source file", "factories_detected"),
        duty=("put the happy path before the corner cases", "word contexts with when, with, and, but"),
    ),
    Agent(
        name="implementer",
        reads=("test_level", "target and the source file", "characteristics", "factories_detected"),
        duty=(
            "set up what each context needs: build_stubbed for unit tests, create for the others",
            "use existing traits",
            "expect behaviour, not implementation",
        ),
    ),
    Agent(
        name="factory-optimizer",
        reads=("characteristics", "factories_detected", "test_level"),
        duty=(
            "run `runcard plan optimize`, which compares the states with the existing traits",
            "report missing traits as warnings",
            "prefer build_stubbed where nothing must be saved",
        ),
    ),
    Agent(
        name="polisher",
        reads=("automation", "the spec file"),
        duty=(
            "run the linter and the tests",
            "set automation.linter to the name of the linter, or to null if there is none",
        ),
        keys=("linter",),
    ),
    Agent(
        name="reviewer",
        reads=("the whole plan", "the spec file", "the source file"),
        duty=(
            "run `runcard plan review`, which reports states without tests",
            "check that every characteristic is tested",
            "report only; change nothing",
        ),
        writes=False,
    ),
)
AGENTS = {agent.name: agent for agent in _ALL}


def agent_named(name: str) -> Agent:
    if name not in AGENTS:
        raise UsageError(f"no such agent: {printable(name)}", hint=f"use one of {', '.join(AGENTS)}")
    return AGENTS[name]


def predecessor(agent: Agent) -> Agent | None:
    index = _ALL.index(agent)
    return _ALL[index - 1] if index else None


def successors(agent: Agent) -> tuple[Agent, ...]:
    return _ALL[_ALL.index(agent) + 1 :]


def next_agent(plan: JsonObject) -> Agent:
    """The next agent: the first that has not reported yet; at the end the reviewer, who leaves none."""
    return next(agent for agent in _ALL if not agent.writes or not agent.is_done(plan))
