"""Writing the skeleton of a spec for a plan, and saying so in the plan."""

import os
from contextlib import suppress
from dataclasses import dataclass

from runcard.encoding import JsonObject
from runcard.errors import RuncardError, StoreError
from runcard.files import failure, json_name, printable, read_file, write_atomic
from runcard.plans.agents import AGENTS, next_agent
from runcard.plans.freshness import stale_warnings
from runcard.plans.plan import Plan, plan_at
from runcard.plans.plan_files import MethodRef, locate_plan
from runcard.plans.project import check_inside
from runcard.plans.ruby.targets import required_parameters
from runcard.plans.spec_paths import default_spec
from runcard.plans.spec_skeleton import CallSignature, Context, contexts_of, skeleton

_AGENT = AGENTS["skeleton"]


@dataclass(frozen=True, slots=True)
class SkeletonResult:
    """The skeleton of a spec."""

    plan: Plan
    path: str
    contexts: tuple[Context, ...]
    is_new: bool  # False: it stood there already, word for word
    warnings: tuple[str, ...]

    @property
    def next(self) -> str:
        return next_agent(self.plan.to_dict()).name

    def to_dict(self) -> JsonObject:
        every = [context for root in self.contexts for context in root.walk()]
        return {
            "metadata_path": json_name(self.plan.path).text,
            "spec": json_name(self.path).text,
            "skeleton_file": self.plan.to_dict()["automation"].get("skeleton_file"),
            "written": self.is_new,
            "contexts": len(every),
            "examples": sum(context.is_leaf for context in every) or 1,
            "next": self.next,
            "warnings": list(self.warnings),
        }


def write_skeleton(
    path: str,
    *,
    root: str | None = None,
    method_ref: MethodRef | None = None,
    output: str | None = None,
    force: bool = False,
) -> SkeletonResult:
    """Write the spec of a plan, where it belongs or to `output`; only `force` replaces a file that is there."""
    plan = plan_at(locate_plan(path, root=root, method_ref=method_ref))
    plan.check_exists()
    plan.check_handed_on(_AGENT)
    data = plan.to_dict()
    contexts = contexts_of(data["characteristics"])
    spec = output or os.path.join(plan.location.project.root, default_spec(plan))
    text = skeleton(data["target"], contexts, _call(plan, data["target"]), _helper(plan, data["target"]))
    warnings = [
        *plan.warnings,
        *plan.missing(_AGENT.name),
        *stale_warnings(plan.location),
        *_unreached(data, contexts),
    ]
    if output is None:
        check_inside(plan.location.project, spec)
    is_new = _written(spec, text, force=force)
    inside = _inside(plan, spec)
    if inside is None:
        warnings.append(
            f"the plan does not name {printable(spec)}: it lies outside of the project, or its name is not UTF-8"
        )
    marked = plan.mark(
        _AGENT.name, completed=True, values={} if inside is None else {"skeleton_file": inside}
    )
    return SkeletonResult(marked, spec, contexts, is_new, tuple(warnings))


def _unreached(data: JsonObject, contexts: tuple[Context, ...]) -> list[str]:
    """What has no context, since it depends on a terminal state."""
    placed = {context.one["name"] for root in contexts for context in root.walk()}
    return [
        f"{one['name']} has no context: nothing follows a terminal state"
        for one in data["characteristics"]
        if one["name"] not in placed
    ]


def _call(plan: Plan, target: JsonObject) -> CallSignature:
    """What the source says about the parameters; nothing where it cannot be read."""
    name = target["class"]
    with suppress(RuncardError):
        parameters = required_parameters(plan.source, name, target["method"], target["method_type"])
        return CallSignature(parameters, required_parameters(plan.source, name, "initialize", "instance"))
    return CallSignature()


def _helper(plan: Plan, target: JsonObject) -> str:
    """The file that a spec requires: that of Rails, where there is Rails."""
    is_rails = target["file"].removeprefix("./").startswith("app/")
    of_rails = os.path.join(plan.location.project.root, "spec", "rails_helper.rb")
    return "rails_helper" if is_rails or os.path.isfile(of_rails) else "spec_helper"


def _written(path: str, text: bytes, *, force: bool) -> bool:
    """Write the file; False when it is there, word for word."""
    if os.path.lexists(path) and not force:
        with suppress(RuncardError):
            if read_file(path, len(text), only_regular=True) == text:
                return False
        raise _exists(path)
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        write_atomic(path, text, replace=force)
    except FileExistsError as error:
        raise _exists(path) from error
    except OSError as error:
        raise failure(error, path, "write") from error
    return True


def _exists(path: str) -> StoreError:
    return StoreError(
        f"{printable(path)} exists and was not touched",
        hint="--force replaces it; `runcard plan skeleton --output` writes another file",
    )


def _inside(plan: Plan, path: str) -> str | None:
    """The path in the project; None outside of it, and for one that no document can hold."""
    inside = os.path.relpath(os.path.realpath(path), plan.location.project.root)
    is_outside = inside.startswith(os.pardir + os.sep)
    return None if is_outside or json_name(inside).text != inside else inside
