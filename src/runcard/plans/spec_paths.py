"""The path of the spec of a plan: the one in the plan, or the conventional one for its source.

All methods of a source share one spec. The examples of a controller are requests, and so are in `spec/requests`.
"""

import os
import re

from runcard.plans.plan import Plan

_ENDING = "_spec.rb"
SHARED_ENDING = "_shared.rb"  # shared examples that are the spec of a concern: what they describe runs where they are included
_ENGINE_FILE = re.compile(r"((?:engines|packs|packages|components|gems)/[^/]+/)((?:app|lib)/.+)")
_CONTROLLER = re.compile(r"app/controllers/(?!concerns/)(.+)_controller\.rb")


def spec_path(file: str) -> str:
    """The path of the spec of a source, both relative to the project."""
    return _candidates(file)[0]


def _candidates(file: str) -> list[str]:
    """The paths where the spec of a source may be, the default first."""
    file = file.removeprefix("./")
    part = _ENGINE_FILE.fullmatch(file)
    if part is not None:
        return [part[1] + path for path in _candidates(part[2])]
    named_after = f"spec/{file.removeprefix('app/').removesuffix('.rb')}{_ENDING}"
    controller = _CONTROLLER.fullmatch(file)
    if controller is None:
        return [named_after]
    request = f"spec/requests/{controller[1]}"
    return [
        f"{request}{_ENDING}",
        f"{request}_controller{_ENDING}",
        f"{request}_request{_ENDING}",
        named_after,
    ]


def skeleton_path(plan: Plan) -> str:
    """The path in the project that the skeleton of a plan is written to: the one in the plan, if that exists."""
    root = plan.location.project.root
    named = recorded_spec(plan)
    if named and os.path.lexists(os.path.join(root, named)):
        return named
    paths = _candidates(plan.to_dict()["target"]["file"])
    writable = paths[:-1] or paths  # the spec of a controller without requests is of another type
    return next((path for path in writable if os.path.lexists(os.path.join(root, path))), paths[0])


def spec_of(plan: Plan) -> str:
    """The path of a plan's spec in the project: the one in the plan, or one that exists, or the default."""
    return recorded_spec(plan) or next(iter(specs_of(plan)), spec_path(plan.to_dict()["target"]["file"]))


def specs_of(plan: Plan) -> tuple[str, ...]:
    """The specs of a plan that exist, relative to the project: the one in the plan first."""
    return specs_of_source(plan.location.project.root, plan.to_dict()["target"]["file"], recorded_spec(plan))


def specs_of_source(root: str, file: str, recorded: str | None = None) -> tuple[str, ...]:
    """The specs of a source that exist: a controller may have two, a concern a file of shared examples."""
    known = _candidates(file)
    shared = [f"{path.removesuffix(_ENDING)}{SHARED_ENDING}" for path in known]
    paths = dict.fromkeys([*([recorded] if recorded else []), *known, *shared])
    return tuple(path for path in paths if os.path.lexists(os.path.join(root, path)))


def recorded_spec(plan: Plan) -> str | None:
    """The path that the plan records, if it is inside of the project."""
    named = (plan.to_dict().get("automation") or {}).get("skeleton_file")
    if not named or os.path.isabs(str(named)) or os.pardir in str(named).split("/"):
        return None
    return str(named)
