"""The prompts of a server: the guide of each agent that works on test plans."""

from typing import NamedTuple

from runcard.errors import UsageError
from runcard.files import printable
from runcard.operations.plans.guide import guide
from runcard.plans.agents import AGENTS

_PREFIX = "plan-"
_TOOLS = """
## Tools

The same by the tools of this server: `plan_status` and `plan_begin` before you start, `plan_read` to read the plan, and,
if the server may write, `plan_write_section` for your sections, `plan_validate` as the validator, `plan_mark` to report."""


class PromptEntry(NamedTuple):
    """A prompt in a list."""

    name: str
    title: str
    description: str


def list_prompts() -> list[PromptEntry]:
    return [
        PromptEntry(
            f"{_PREFIX}{name}",
            f"Guide of the {name}",
            f"What the {name} of a test plan reads, may write and must do.",
        )
        for name in AGENTS
    ]


def prompt_text(name: str, source: str | None = None) -> str:
    """The guide of an agent, perhaps for one source."""
    agent = name.removeprefix(_PREFIX)
    if not name.startswith(_PREFIX) or agent not in AGENTS:
        names = ", ".join(_PREFIX + one for one in AGENTS)
        raise UsageError(f"there is no prompt {printable(name[:100])}", hint=f"use one of {names}")
    text = "\n".join(guide(agent).lines()) + "\n" + _TOOLS
    if not source:
        return text
    return f"{text}\n\nSRC is {printable(source[:4096])}"
