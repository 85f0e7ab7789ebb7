"""Plan files: which file is the plan of a source, its name, and its contents.

The documented name is made from the path of the source: `app/models/user.rb` has `metadata_app_models_user.yml`. If
another source uses that name, or it is too long, 8 hex digits of the digest of the path are added; for an additional
method of the same source, 8 hex digits of the digest of class, type and method.

A plan belongs to the source that its `target.file` names, whatever the name of the file. A file without a usable
`target.file` belongs to the source that its name stands for. The first owner of a name keeps it.

No other file is taken for a plan: elsewhere than in a folder of plans, or behind a link from there, a file must have the
sections of one.
"""

import os
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.documents.kinds import TESTPLAN, detect
from runcard.documents.testplan.plan import TestPlan
from runcard.encoding import JsonObject
from runcard.encoding.limits import DEFAULT, Limits
from runcard.errors import EncodingError, RuncardError, StoreError, UsageError
from runcard.files import check_relative, encode_name, printable, read_file
from runcard.plans.project import (
    FOLDER,
    Project,
    check_folder,
    check_inside,
    given_project,
    project_at,
    project_of,
)

_PREFIX, _ENDING = "metadata_", ".yml"
_PREVIOUS = ".previous"  # the plan before the last analysis that changed it
_MAX_NAME = 255  # bytes
_DIGITS = 8


# Names


def is_plan_name(name: str) -> bool:
    """Whether a file in a folder of plans has the name of a plan."""
    return name.startswith(_PREFIX) and name.endswith(_ENDING)


def is_among_plans(path: str) -> bool:
    """Whether a real path is that of a plan in a folder of plans, whatever its content."""
    folder, name = os.path.split(path)
    return os.path.basename(folder).endswith(FOLDER) and is_plan_name(name.removesuffix(_PREVIOUS))


def is_plan_path(path: str) -> bool:
    """Whether an argument names a plan itself, not a source."""
    return path.endswith((".yml", ".yaml", ".json", _PREVIOUS))


def documented_name(file: str) -> str:
    """The name of the plan of a source, from its path in the project; it can be too long for a file."""
    return f"{_PREFIX}{file.removesuffix('.rb').replace('/', '_')}{_ENDING}"


def report_name(name: str) -> str:
    """The name of the report about a plan, in the same folder."""
    return _shortened(name.rpartition(".")[0], ".review.md")


def previous_path(path: str) -> str:
    """The path where the plan before a new analysis is kept."""
    folder, name = os.path.split(path)
    return os.path.join(folder, _shortened(name, _PREVIOUS))


def short_digest(text: str) -> str:
    """The first hex digits of a digest, which make a name unique."""
    return sha256_bytes(encode_name(text)).hex[:_DIGITS]


def _with_digest(name: str, text: str) -> str:
    """A name with the short digest of a text; shortened if it is too long."""
    return _shortened(name.removesuffix(_ENDING), f"-{short_digest(text)}{_ENDING}")


def _shortened(stem: str, ending: str) -> str:
    while _is_too_long(stem + ending):
        stem = stem[:-1]
    return stem + ending


def _is_too_long(name: str) -> bool:
    return len(encode_name(name)) > _MAX_NAME


# Contents


@dataclass(frozen=True)
class PlanFile:
    """A plan file: its path, and its bytes if it exists."""

    path: str
    content: bytes | None
    limits: Limits = DEFAULT

    @property
    def exists(self) -> bool:
        return self.content is not None

    @cached_property
    def data(self) -> JsonObject | None:
        """The data, which nobody changes; None when the file is missing, unreadable or not a map."""
        return _decoded(self.content, self.limits) if self.content else None

    def section(self, name: str) -> JsonObject:
        """A section; empty when it is absent or not a map."""
        value = (self.data or {}).get(name)
        return value if isinstance(value, dict) else {}

    @property
    def target_file(self) -> str | None:
        """The source that the plan names."""
        file = self.section("target").get("file")
        return file.removeprefix("./") if isinstance(file, str) else None

    def is_about(self, file: str, root: str) -> bool:
        """Whether it is the plan of this source of the project; an absolute path is invalid, but matches."""
        if self.target_file is None:
            return False
        return os.path.normpath(os.path.join(root, self.target_file)) == os.path.join(root, file)


@lru_cache(maxsize=2)
def _decoded(content: bytes, limits: Limits) -> JsonObject | None:
    """The data of a plan. The first plan of a source is looked at for each method of that source."""
    try:
        value = TestPlan.decode(content, limits)
    except EncodingError:
        return None
    return value if isinstance(value, dict) else None


def read_plan_file(path: str, limits: Limits) -> PlanFile:
    """The plan file at a path, which need not exist; raises StoreError for a file that is no plan."""
    try:
        plan_file = PlanFile(path, read_file(path, limits.size, only_regular=True), limits)
    except RuncardError as error:
        if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError):
            return PlanFile(path, None, limits)
        raise
    if is_among_plans(os.path.realpath(path)) or detect(plan_file.data or {}) is TESTPLAN:
        return plan_file
    raise StoreError(
        f"{printable(path)} is not a test plan",
        hint="pass a Ruby source, or a plan that is listed by: runcard plan list",
    )


# Which file


class MethodRef(NamedTuple):
    """A reference to a method; parts that are not given are None."""

    class_name: str | None = None
    method: str | None = None
    method_type: str | None = None

    @classmethod
    def of(cls, target: JsonObject) -> "MethodRef":
        """The method in the section `target` of a plan, as far as it is there."""
        names = (target.get(key) for key in ("class", "method", "method_type"))
        return cls(*(name if isinstance(name, str) else None for name in names))

    def matches(self, target: JsonObject) -> bool:
        """Whether it can be the method in the section `target` of a plan."""
        pairs = zip(("class", "method", "method_type"), self, strict=True)
        return all(value is None or _relative(target.get(key)) == _relative(value) for key, value in pairs)

    @property
    def key(self) -> str | None:
        """The text whose digest is in the name of its own plan; None unless all parts are given."""
        class_name, method, method_type = self
        if class_name is None or method is None or method_type is None:
            return None
        return f"{class_name.removeprefix('::')}\n{method_type}\n{method}"


def _relative(name: object) -> object:
    return name.removeprefix("::") if isinstance(name, str) else name


@dataclass(frozen=True, slots=True)
class PlanLocation:
    """Where the plan of a source is or will be, and the file that is there now."""

    project: Project
    file: str  # the source, as a path in the project; empty for a plan that names none
    plan_file: PlanFile
    is_other_method: bool = False  # the file is the plan of another method; the requested one has no file
    warnings: tuple[str, ...] = ()
    is_outside_project: bool = False  # a plan outside of any project: its source can only be guessed

    @property
    def path(self) -> str:
        return self.plan_file.path

    @property
    def source(self) -> str:
        return os.path.join(self.project.root, self.file)

    def check_method(self) -> None:
        """Refuse the plan of another method, when the requested method is ambiguous."""
        if self.is_other_method and self.plan_file.exists:
            raise StoreError(
                f"{printable(self.path)} is the plan of another method, and the requested method is ambiguous",
                hint="pass --class, --method and --type",
            )


def locate_plan(
    path: str,
    *,
    root: str | None = None,
    method_ref: MethodRef | None = None,
    limits: Limits | None = None,
    is_resolved: bool = False,
) -> PlanLocation:
    """The location of the plan of a source; or of the plan itself, if the path names one.

    `is_resolved` means that the names in `method_ref` are complete, so that the source need not be read.
    """
    if "\0" in path:
        raise StoreError("a path cannot contain a NUL byte", hint="pass a source file")
    limits = limits or Limits()
    if is_plan_path(path):
        return _plan_itself(path, root, limits)
    location = _of_source(path, root, limits)
    method_ref = method_ref or MethodRef()
    if location.plan_file.data is None or method_ref.matches(location.plan_file.section("target")):
        return location
    return _of_method(location, method_ref, is_resolved=is_resolved)


def _plan_itself(path: str, root: str | None, limits: Limits) -> PlanLocation:
    plan_file = read_plan_file(path, limits)
    if not plan_file.exists:
        raise StoreError(f"{printable(path)} does not exist", hint="check the path")
    folder = os.path.dirname(os.path.realpath(path))
    project = given_project(root) if root else project_at(folder)
    file = plan_file.target_file or ""
    if project is None:
        return PlanLocation(Project(folder, is_marked=False), file, plan_file, is_outside_project=True)
    return PlanLocation(project, file, plan_file)


def _of_source(source: str, root: str | None, limits: Limits) -> PlanLocation:
    """The plan of the first method of a source."""
    project, file = project_of(source, root)
    if os.path.isdir(os.path.join(project.root, file)):
        raise StoreError(f"{printable(source)} is a directory", hint="pass a source file")
    check_folder(project)
    warnings = [] if project.is_marked else [no_project_warning(project)]
    plan_file, warning = _first_plan(project, file, limits)
    if warning:
        warnings.append(warning)
    check_inside(project, plan_file.path)
    return PlanLocation(project, file, plan_file, warnings=tuple(warnings))


def _first_plan(project: Project, file: str, limits: Limits) -> tuple[PlanFile, str | None]:
    """The plan of the first method of a source, and a warning if it does not have the documented name."""
    name = documented_name(file)
    other_path = os.path.join(project.folder, _with_digest(name, file))
    if _is_too_long(name):
        return read_plan_file(other_path, limits), f"the documented name for {file} is too long: shortened"
    documented = read_plan_file(os.path.join(project.folder, name), limits)
    if documented.exists and not _is_of_other_source(documented, file, project.root):
        return documented, None
    other = read_plan_file(other_path, limits)
    if not documented.exists and not other.is_about(file, project.root):
        return documented, None
    owner = documented.target_file or "another source"
    return other, f"{name} is the plan of {owner}; the plan of {file} is {os.path.basename(other_path)}"


def _is_of_other_source(plan_file: PlanFile, file: str, root: str) -> bool:
    """Whether a plan is about another source that exists, or whose name the plan has."""
    if plan_file.target_file is None or plan_file.is_about(file, root):
        return False
    inside = os.path.relpath(os.path.join(root, plan_file.target_file.replace("\0", "")), root)
    if check_relative(inside):
        return False  # a path out of the project is invalid, so the name of the plan decides
    has_its_name = documented_name(inside) == os.path.basename(plan_file.path)
    return has_its_name or os.path.exists(os.path.join(root, inside))


def _of_method(location: PlanLocation, method_ref: MethodRef, *, is_resolved: bool) -> PlanLocation:
    """The plan of an additional method of the same source: the existing one, or the name that it will have."""
    key = method_ref.key
    existing = _search(location, method_ref) if key is None else _by_key(location, key)
    if existing is not None and (is_resolved or not existing.is_other_method):
        return existing
    resolved = _resolve(location, method_ref)
    if resolved.matches(location.plan_file.section("target")):
        return location
    return (
        replace(location, is_other_method=True) if resolved.key is None else _by_key(location, resolved.key)
    )


def _by_key(location: PlanLocation, key: str) -> PlanLocation:
    """The plan of an additional method, under the name made from its key."""
    path = os.path.join(location.project.folder, _with_digest(os.path.basename(location.path), key))
    plan_file = read_plan_file(path, location.plan_file.limits)
    return replace(location, plan_file=plan_file, is_other_method=not plan_file.exists)


def _search(location: PlanLocation, method_ref: MethodRef) -> PlanLocation | None:
    """The plan of an additional method, among the existing plans of the source."""
    stem = os.path.basename(location.path).removesuffix(_ENDING) + "-"
    for name in sorted(os.listdir(location.project.folder)):
        if not (is_plan_name(name) and name.startswith(stem)):
            continue
        try:
            other = read_plan_file(os.path.join(location.project.folder, name), location.plan_file.limits)
        except RuncardError:
            continue
        is_of_source = other.is_about(location.file, location.project.root)
        if is_of_source and method_ref.matches(other.section("target")):
            return replace(location, plan_file=other)
    return None


def _resolve(location: PlanLocation, method_ref: MethodRef) -> MethodRef:
    """The method with its class and type from the source; unchanged if it is ambiguous."""
    from runcard.plans.ruby.targets import read_targets  # noqa: PLC0415 - its parser takes long to import

    try:
        targets = read_targets(location.source).matching(*method_ref)
    except RuncardError:
        return method_ref
    if len({(target.class_name, target.method) for target in targets}) != 1:
        return method_ref
    return MethodRef(targets[0].class_name, targets[0].method, targets[0].method_type)


def plans_of_source(location: PlanLocation) -> list[tuple[str, JsonObject]]:
    """All plans of a source: their paths, and the sections `target`."""
    return [(each.path, each.plan_file.section("target")) for each in locations_of_source(location)]


def locations_of_source(location: PlanLocation) -> list[PlanLocation]:
    """All plans of a source that name their method."""
    stem = os.path.basename(location.path).removesuffix(_ENDING)
    try:
        names = sorted(os.listdir(location.project.folder))
    except OSError:
        return []
    found: list[PlanLocation] = []
    for name in names:
        path = os.path.join(location.project.folder, name)
        if not (is_plan_name(name) and name.startswith(stem)):
            continue
        try:
            is_known = path == location.path
            plan = location.plan_file if is_known else read_plan_file(path, location.plan_file.limits)
        except RuncardError:
            continue
        if plan.is_about(location.file, location.project.root) and plan.section("target").get("method"):
            found.append(replace(location, plan_file=plan))
    return found


def other_methods(location: PlanLocation) -> list[str]:
    """The methods of all plans of a source, if it has several; each as `Class#method`."""
    methods: list[str] = []
    for _, target in plans_of_source(location):
        sign = "." if target.get("method_type") == "class" else "#"
        methods.append(f"{target.get('class')}{sign}{target.get('method')}")
    return sorted(methods) if len(methods) > 1 else []


def check_one_plan(location: PlanLocation, path: str, method_ref: MethodRef | None) -> None:
    """Ask for a method when a source has several plans and none is named."""
    if is_plan_path(path) or (method_ref is not None and method_ref.method is not None):
        return
    if methods := other_methods(location):
        raise UsageError(
            f"{printable(location.file)} has plans for several methods: {', '.join(map(printable, methods[:20]))}",
            hint="pass --method, and --class if the name is ambiguous",
        )


def no_project_warning(project: Project) -> str:
    return f"no .git and no Gemfile found: plans are stored in {project.folder}"
