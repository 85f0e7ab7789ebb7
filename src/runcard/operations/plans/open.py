"""Open the plan of a source, for programs."""

import os

from runcard.encoding import Limits
from runcard.plans.plan import Plan
from runcard.plans.plan_files import MethodRef, locate_plan


def open_plan(
    path: str | os.PathLike[str],
    *,
    root: str | os.PathLike[str] | None = None,
    class_name: str | None = None,
    method: str | None = None,
    method_type: str | None = None,
    limits: Limits | None = None,
) -> Plan:
    """The plan of a source, or the plan at a path that ends in `.yml`; it need not exist yet.

    `root` is the project; by default the nearest directory above with `.git` or a `Gemfile`. If a source has plans for
    several methods, pass the class, the method and its type, `instance` or `class`.
    """
    method_ref = MethodRef(class_name, method, method_type)
    project = None if root is None else os.fspath(root)
    return Plan(locate_plan(os.fspath(path), root=project, method_ref=method_ref, limits=limits))
