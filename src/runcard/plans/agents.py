"""The agents that work on a plan: their order, what each reads, may write and must do.

The order is a pipeline: an agent begins when its predecessor has left its marker. This is the only location that knows it.
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
    sections: tuple[str, ...] = ()  # that it owns
    keys: tuple[str, ...] = ()  # of `automation` that it owns besides those that begin with its name
    writes: bool = True

    @property
    def prefix(self) -> str:
        """How its keys in `automation` begin."""
        return self.name.replace("-", "_") + "_"

    @property
    def marker(self) -> str:
        return f"{self.prefix}completed"

    @property
    def markers(self) -> tuple[str, ...]:
        """Every key of `automation` that says that it is done; the first is the documented one."""
        return ("skeleton_generated", self.marker) if self.name == "skeleton" else (self.marker,)

    @property
    def places(self) -> tuple[str, ...]:
        """All that it may write."""
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
        automation, own = plan.get("automation"), plan.get(_OWN_WORD.get(self.name, ""))
        if isinstance(own, dict) and own.get("completed") is True and not own.get("errors"):
            return True
        signs = (*self.markers, *_OTHER_SIGNS.get(self.name, ()))
        return isinstance(automation, dict) and any(automation.get(key) is True for key in signs)


_OTHER_SIGNS = {"validator": ("validation_passed",)}  # keys of `automation` that other tools leave
_OWN_WORD = {
    "analyzer": "analyzer",
    "validator": "validation",
}  # sections that say themselves whether they are done

_ALL = (
    Agent(
        name="analyzer",
        reads=("the source file",),
        duty=(
            "run `runcard plan analyze --write`, which finds the conditions of the method by parsing",
            "find the characteristics of the method: what its behaviour depends on, and the states of each",
            "note the source's modification time in whole seconds, its size and its SHA-256",
            "set analyzer.completed to true when everything is there",
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
        duty=("run `runcard plan validate`", "let no plan with errors pass"),
        sections=("validation",),
        keys=("validation_passed",),
    ),
    Agent(
        name="skeleton",
        reads=("target", "characteristics"),
        duty=(
            "run `runcard plan skeleton`",
            "or write the spec file with a context for each state, and name it in automation.skeleton_file",
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
            "build what each context needs: build_stubbed for unit tests, create for the others",
            "use the traits that exist",
            "expect behaviour, not implementation",
        ),
    ),
    Agent(
        name="factory-optimizer",
        reads=("characteristics", "factories_detected", "test_level"),
        duty=(
            "run `runcard plan optimize`, which compares the states with the traits that exist",
            "report missing traits as warnings",
            "prefer build_stubbed where nothing must be stored",
        ),
    ),
    Agent(
        name="polisher",
        reads=("automation", "the spec file"),
        duty=(
            "run the linter and the tests",
            "name the linter in automation.linter, null when there is none",
        ),
        keys=("linter",),
    ),
    Agent(
        name="reviewer",
        reads=("the whole plan", "the spec file", "the source file"),
        duty=(
            "run `runcard plan review`, which says what the spec leaves out",
            "check that every characteristic is tested",
            "report; change nothing",
        ),
        writes=False,
    ),
)
AGENTS = {agent.name: agent for agent in _ALL}


def agent_named(name: str) -> Agent:
    if name not in AGENTS:
        raise UsageError(f"no such agent: {printable(name)}", hint=f"one of {', '.join(AGENTS)}")
    return AGENTS[name]


def predecessor(agent: Agent) -> Agent | None:
    location = _ALL.index(agent)
    return _ALL[location - 1] if location else None


def successors(agent: Agent) -> tuple[Agent, ...]:
    return _ALL[_ALL.index(agent) + 1 :]


def next_agent(plan: JsonObject) -> Agent:
    """Whose turn it is: the first that has not left its marker; at the end the reviewer, who leaves none."""
    return next(agent for agent in _ALL if not agent.writes or not agent.is_done(plan))
