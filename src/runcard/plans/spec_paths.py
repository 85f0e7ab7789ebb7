"""The path of the spec of a plan: the one in the plan, or the conventional one for its source.

The first method of a source has the conventional Rails path; an additional method has its own spec beside it.
"""

import re

from runcard.plans.plan import Plan
from runcard.plans.plan_files import MethodRef, short_digest

_ENDING = "_spec.rb"
_ENGINE_FILE = re.compile(r"((?:engines|packs|packages|components|gems)/[^/]+/)((?:app|lib)/.+)")


def spec_path(file: str) -> str:
    """The path of the spec of a source, both relative to the project."""
    file = file.removeprefix("./")
    part = _ENGINE_FILE.fullmatch(file)
    if part is not None:
        return part[1] + spec_path(part[2])
    return f"spec/{file.removeprefix('app/').removesuffix('.rb')}{_ENDING}"


def default_spec(plan: Plan) -> str:
    """The default path: `pay_spec.rb`; for an additional method of `pay.rb`, `pay_refund_spec.rb`."""
    target = plan.to_dict()["target"]
    path = spec_path(target["file"])
    if not plan.location.is_additional:
        return path
    word = re.sub(r"\W", "", target["method"])
    words = [path.removesuffix(_ENDING), "class" if target["method_type"] == "class" else "", word]
    name = "_".join(filter(None, words))
    if word != target["method"]:  # the digits replace characters that a file name cannot have
        name += f"-{short_digest(MethodRef.of(target).key or '')}"
    return name + _ENDING


def spec_of(plan: Plan) -> str:
    """The path of a plan's spec in the project: the one in the plan, or the default."""
    named = (plan.to_dict().get("automation") or {}).get("skeleton_file")
    return str(named) if named else default_spec(plan)
