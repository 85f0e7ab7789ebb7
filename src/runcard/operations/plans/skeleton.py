"""Write the skeleton of a spec for a plan, and report it in the plan."""

import os
from contextlib import suppress
from dataclasses import dataclass

from runcard.encoding import JsonObject
from runcard.errors import RuncardError, StoreError
from runcard.files import failure, json_name, printable, read_file, write_atomic
from runcard.plans.agents import AGENTS, next_agent
from runcard.plans.freshness import stale_warnings
from runcard.plans.plan import Plan, find_plan
from runcard.plans.plan_files import MethodRef
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
    is_new: bool  # False: the same file existed already
    warnings: tuple[str, ...]

    @property
    def next(self) -> str:
        return next_agent(self.plan.to_dict()).name

    def to_dict(self) -> JsonObject:
        contexts = [context for root in self.contexts for context in root.walk()]
        return {
            "metadata_path": json_name(self.plan.path).text,
            "spec": json_name(self.path).text,
            "skeleton_file": self.plan.to_dict()["automation"].get("skeleton_file"),
            "written": self.is_new,
            "contexts": len(contexts),
            "examples": sum(context.is_leaf for context in contexts) or 1,
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
    """Write the spec of a plan to its default path or to `output`; only `force` replaces an existing file."""
    plan = find_plan(path, root=root, method_ref=method_ref)
    plan.check_exists()
    plan.check_handover(_AGENT)
    data = plan.to_dict()
    contexts = contexts_of(data["characteristics"])
    spec = output or os.path.join(plan.location.project.root, default_spec(plan))
    text = skeleton(data["target"], contexts, _signature(plan, data["target"]), _helper(plan, data["target"]))
    warnings = [
        *plan.warnings,
        *plan.missing(_AGENT.name),
        *stale_warnings(plan.location),
        *_unreachable(data, contexts),
    ]
    if output is None:
        check_inside(plan.location.project, spec)
    is_new = _write(spec, text, force=force)
    skeleton_file = _path_in_project(plan, spec)
    if skeleton_file is None:
        warnings.append(
            f"{printable(spec)} is not recorded in the plan: it is outside of the project, or its name is not UTF-8"
        )
    marked = plan.mark(
        _AGENT.name, completed=True, values={} if skeleton_file is None else {"skeleton_file": skeleton_file}
    )
    return SkeletonResult(marked, spec, contexts, is_new, tuple(warnings))


def _unreachable(data: JsonObject, contexts: tuple[Context, ...]) -> list[str]:
    """Warnings for characteristics without a context, because they depend on a terminal state."""
    placed = {context.characteristic["name"] for root in contexts for context in root.walk()}
    return [
        f"{characteristic['name']} has no context: nothing follows a terminal state"
        for characteristic in data["characteristics"]
        if characteristic["name"] not in placed
    ]


def _signature(plan: Plan, target: JsonObject) -> CallSignature:
    """The parameters in the source; none if it cannot be read."""
    name = target["class"]
    with suppress(RuncardError):
        parameters = required_parameters(plan.source, name, target["method"], target["method_type"])
        return CallSignature(parameters, required_parameters(plan.source, name, "initialize", "instance"))
    return CallSignature()


def _helper(plan: Plan, target: JsonObject) -> str:
    """The file that a spec requires: `rails_helper` in Rails projects, else `spec_helper`."""
    is_rails = target["file"].removeprefix("./").startswith("app/")
    rails_helper = os.path.join(plan.location.project.root, "spec", "rails_helper.rb")
    return "rails_helper" if is_rails or os.path.isfile(rails_helper) else "spec_helper"


def _write(path: str, text: bytes, *, force: bool) -> bool:
    """Write the file; False if the same file exists already."""
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
        f"{printable(path)} already exists; it was not changed",
        hint="pass --force to replace it, or --output to write another file",
    )


def _path_in_project(plan: Plan, path: str) -> str | None:
    """The path in the project; None if it is outside, or not valid in a document."""
    inside = os.path.relpath(os.path.realpath(path), plan.location.project.root)
    is_outside = inside.startswith(os.pardir + os.sep)
    return None if is_outside or json_name(inside).text != inside else inside
