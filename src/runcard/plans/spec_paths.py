"""Where the spec of a plan lies: where the plan says, or where the specs of its source belong.

The first method of a source has the spec that Rails people expect; a further one has a spec of its own beside it, so
that neither is in the way of the other.
"""

import re

from runcard.plans.plan import Plan
from runcard.plans.plan_files import MethodRef, short_digest

_ENDING = "_spec.rb"
_OF_A_PART = re.compile(r"((?:engines|packs|packages|components|gems)/[^/]+/)((?:app|lib)/.+)")


def spec_path(file: str) -> str:
    """The path of the spec of a source, both relative to the project."""
    file = file.removeprefix("./")
    part = _OF_A_PART.fullmatch(file)
    if part is not None:
        return part[1] + spec_path(part[2])
    return f"spec/{file.removeprefix('app/').removesuffix('.rb')}{_ENDING}"


def default_spec(plan: Plan) -> str:
    """Where the spec of a valid plan belongs: `pay_spec.rb`, for a further method of `pay.rb` `pay_refund_spec.rb`."""
    target = plan.to_dict()["target"]
    path = spec_path(target["file"])
    if not plan.location.is_additional:
        return path
    word = re.sub(r"\W", "", target["method"])
    words = [path.removesuffix(_ENDING), "class" if target["method_type"] == "class" else "", word]
    name = "_".join(filter(None, words))
    if (
        word != target["method"]
    ):  # what cannot stand in a name is told by the short_digest that the plan's name has
        name += f"-{short_digest(MethodRef.of(target).key or '')}"
    return name + _ENDING


def spec_of(plan: Plan) -> str:
    """The path of a plan's spec in the project: the one that the plan names, or the one that it gets."""
    named = (plan.to_dict().get("automation") or {}).get("skeleton_file")
    return str(named) if named else default_spec(plan)
