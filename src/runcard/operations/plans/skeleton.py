"""Write the skeleton of a spec for a plan, and report it in the plan. An existing spec is extended."""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from runcard.encoding import JsonObject
from runcard.errors import DocumentError, RuncardError, StoreError
from runcard.files import failure, json_name, printable, read_file, write_atomic
from runcard.operations.plans.review import NO_GROUP, ReviewSource, source_facts
from runcard.plans.agents import AGENTS, next_agent
from runcard.plans.branch_evidence import StateKey
from runcard.plans.freshness import stale_warnings
from runcard.plans.plan import Plan, find_plan
from runcard.plans.plan_files import MethodRef, check_one_plan
from runcard.plans.project import check_inside
from runcard.plans.ruby.source_text import MAX_SIZE
from runcard.plans.skeleton_builder import SkeletonBuilder
from runcard.plans.spec_contexts import Context
from runcard.plans.spec_merge import SpecMerge, merge, uncovered
from runcard.plans.spec_paths import skeleton_path, specs_of
from runcard.plans.spec_review import Review, read_tested, review
from runcard.settings import PLANS_TAGS, read_settings

_AGENT = AGENTS["skeleton"]


@dataclass(frozen=True, slots=True)
class SkeletonResult:
    """The skeleton of a spec."""

    plan: Plan
    path: str
    contexts: tuple[Context, ...]
    added: int | None  # contexts that were added to an existing spec; None: the spec is new, or was replaced
    is_new: bool  # False: nothing was written, because nothing was missing
    missing: tuple[str, ...]  # the lines that the spec lacked
    warnings: tuple[str, ...]

    @property
    def next(self) -> str:
        return next_agent(self.plan.to_dict()).name

    def to_dict(self) -> JsonObject:
        contexts = [context for root in self.contexts for context in root.walk()]
        return {
            "metadata_path": json_name(self.plan.path).text,
            "spec": json_name(self.path).text,
            "skeleton_file": (self.plan.to_dict().get("automation") or {}).get("skeleton_file"),
            "written": self.is_new,
            "contexts": len(contexts),
            "examples": sum(context.is_leaf for context in contexts) or 1,
            "added": self.added,
            "missing": list(self.missing),
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
    """Write the spec of a plan to its default path or to `output`; an existing file is extended, or replaced by `force`."""
    task = _SkeletonTask.of(path, root, method_ref, output)
    with task.plan.locked():
        if not force and task.is_tested:
            result, added, is_new = SpecMerge(b"", (), 0), 0, False
        elif force or not os.path.lexists(task.spec):
            text = task.text(() if force else task.covered)
            result = SpecMerge(text, (), 0)
            is_new = _write(task.spec, text, replace=force)
            added = None
        else:
            before, result = task.merged()
            is_new = result.data != before
            added = result.contexts
            if is_new:
                _write(task.spec, result.data, replace=True)
    warnings = list(task.warnings)
    skeleton_file = path_in_project(task.plan, task.spec)
    if skeleton_file is None:
        warnings.append(
            f"{printable(task.spec)} is not recorded in the plan: it is outside of the project, or its name is not UTF-8"
        )
    marked = task.plan.mark(
        _AGENT.name, completed=True, values={} if skeleton_file is None else {"skeleton_file": skeleton_file}
    )
    return SkeletonResult(marked, task.spec, task.contexts, added, is_new, result.missing, tuple(warnings))


def missing_examples(
    path: str, *, root: str | None = None, method_ref: MethodRef | None = None, output: str | None = None
) -> SkeletonResult:
    """What the spec of a plan lacks; nothing is written."""
    task = _SkeletonTask.of(path, root, method_ref, output)
    if task.is_tested:
        result = SpecMerge(b"", (), 0)
    elif os.path.lexists(task.spec):
        _, result = task.merged()
    else:
        lines = tuple(task.text(task.covered).decode().splitlines())
        result = SpecMerge(b"", lines, sum(1 for top in task.contexts for _ in top.walk()))
    return SkeletonResult(
        task.plan, task.spec, task.contexts, result.contexts, False, result.missing, task.warnings
    )


@dataclass(frozen=True, slots=True)
class _SkeletonTask:
    """A plan, its skeleton, and the path of its spec."""

    plan: Plan
    builder: SkeletonBuilder
    contexts: tuple[Context, ...]
    spec: str
    warnings: tuple[str, ...]
    covered: frozenset[StateKey]  # by the specs of the method
    is_tested: bool  # whether these are all states, so that nothing is written

    @classmethod
    def of(
        cls, path: str, root: str | None, method_ref: MethodRef | None, output: str | None
    ) -> "_SkeletonTask":
        plan = find_plan(path, root=root, method_ref=method_ref)
        check_one_plan(plan.location, path, method_ref)
        plan.check_exists()
        plan.check_handover(_AGENT)
        builder = SkeletonBuilder(plan, is_tagged=read_settings()[PLANS_TAGS])
        contexts = tuple(builder.skeleton().contexts)
        spec = output or os.path.join(plan.location.project.root, skeleton_path(plan))
        if output is None:
            check_inside(plan.location.project, spec)
        tested = specs_of(plan) if output is None else (output,) if os.path.lexists(output) else ()
        reviewed = _reviewed(plan, tested)
        covered = reviewed.covered if reviewed else frozenset()
        is_tested = bool(contexts) and not uncovered(contexts, covered)
        if is_tested and output is None and not os.path.lexists(spec):
            spec = os.path.join(plan.location.project.root, tested[0])
        warnings = (
            *plan.warnings,
            *plan.missing(_AGENT.name),
            *stale_warnings(plan.location),
            *_unreachable(plan.to_latest(), contexts),
            *([NO_GROUP] if is_tested and reviewed and not reviewed.has_group else []),
        )
        return cls(plan, builder, contexts, spec, warnings, covered, is_tested)

    def text(self, covered: Collection[StateKey]) -> bytes:
        """The text of a new spec, without the states that other specs cover."""
        skeleton = self.builder.skeleton()
        left = uncovered(skeleton.contexts, frozenset(covered))
        return replace(skeleton, contexts=left).file(self.builder.requires(self.spec))

    def merged(self) -> tuple[bytes, SpecMerge]:
        """The existing spec, and the same with what is missing."""
        data = read_file(self.spec, MAX_SIZE, only_regular=True)
        if len(data) > MAX_SIZE:
            raise DocumentError(
                f"{printable(self.spec)} is larger than {MAX_SIZE:,} bytes", hint="split the file"
            )
        requires = self.builder.requires(self.spec)
        return data, merge(
            data, self.spec, self.builder.skeleton(), requires, self.builder.order(), self.covered
        )


def _reviewed(plan: Plan, specs: Sequence[str]) -> Review | None:
    """The review of the specs that exist; None if there are none, or one cannot be parsed: the merge says why."""
    root, data = plan.location.project.root, plan.to_latest()
    try:
        trees = [(spec, read_tested(os.path.join(root, spec))) for spec in specs]
    except RuncardError:
        return None
    if not trees or any(tree.warnings for _, tree in trees):
        return None
    is_fresh = not stale_warnings(plan.location)
    facts = source_facts(ReviewSource(plan.location.source, root), data) if is_fresh else None
    return review(data, trees, None, facts)


def _unreachable(data: JsonObject, contexts: tuple[Context, ...]) -> list[str]:
    """Warnings for characteristics without a context, because they depend on a terminal state."""
    placed = {context.characteristic["name"] for root in contexts for context in root.walk()}
    return [
        f"{characteristic['name']} has no context: nothing follows a terminal state"
        for characteristic in data["characteristics"]
        if characteristic["name"] not in placed
    ]


def _write(path: str, text: bytes, *, replace: bool) -> bool:
    """Write the file; False if the same file exists already."""
    try:
        if replace and os.path.isfile(path) and read_file(path, len(text), only_regular=True) == text:
            return False
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        write_atomic(path, text, replace=replace)
    except FileExistsError as error:
        raise StoreError(
            f"{printable(path)} already exists; it was not changed", hint="run the command again to extend it"
        ) from error
    except OSError as error:
        raise failure(error, path, "write") from error
    return True


def path_in_project(plan: Plan, path: str) -> str | None:
    """The path in the project; None if it is outside, or not valid in a document."""
    inside = os.path.relpath(os.path.realpath(path), plan.location.project.root)
    is_outside = inside.startswith(os.pardir + os.sep)
    return None if is_outside or json_name(inside).text != inside else inside
