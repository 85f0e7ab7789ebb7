"""Annotations for pull requests: states that are not covered, beside the lines of their conditions."""

import os
from typing import TYPE_CHECKING

from runcard.cli.printing import say
from runcard.operations.plans.review import state_warning
from runcard.views.plan_review import github_annotation

if TYPE_CHECKING:
    from runcard.operations.plans.review import ReviewResult


def annotate(result: "ReviewResult") -> None:
    """Print one workflow command for each state; paths are those of the repository, if the project is its root."""
    plan = result.plan
    lines = {each["name"]: (each.get("lines") or [1])[0] for each in plan.to_dict()["characteristics"]}
    for state in result.review.uncovered:
        say(
            github_annotation(
                plan.location.file, lines[state.characteristic], f"{result.target}: {state_warning(state)}"
            )
        )
    root = plan.location.project.root
    for spec, node in ((result.specs[0], node) for node in result.review.unknown):
        file = os.path.relpath(os.path.realpath(spec), os.path.realpath(root))
        say(github_annotation(file, node.line, f"{result.target}: context '{node.name}' is not in the plan"))
