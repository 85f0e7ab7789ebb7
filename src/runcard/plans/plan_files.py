"""Which file is the plan of a source: the documented name, unless it is another's.

A plan belongs to the source that its `target.file` names, whatever the file is called; a file that names none, or one
that cannot be, belongs to whom its name says. The first owner of a name keeps it.
"""

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from runcard.digests import sha256_bytes
from runcard.documents.testplan.plan import TestPlan
from runcard.encoding import JsonObject
from runcard.encoding.limits import DEFAULT, Limits
from runcard.errors import EncodingError, RuncardError, StoreError
from runcard.files import check_relative, encode_name, printable, read_file
from runcard.plans.project import Project, check_folder, given_project, project_at, project_of

_PREFIX, _ENDING = "metadata_", ".yml"
_LONGEST = 255  # bytes of a file's name
_DIGITS = 8


def is_plan_name(name: str) -> bool:
    """Whether a file in a folder of plans is called like a plan."""
    return name.startswith(_PREFIX) and name.endswith(_ENDING)


def documented_name(file: str) -> str:
    """The name of the plan of a source, by its path in the project; not always one that a file can have."""
    return f"{_PREFIX}{file.removesuffix('.rb').replace('/', '_')}{_ENDING}"


def is_valid_length(name: str) -> bool:
    return len(encode_name(name)) <= _LONGEST


def short_digest(what: str) -> str:
    """The short_digest that tell what has the same name otherwise."""
    return sha256_bytes(encode_name(what)).hex[:_DIGITS]


def with_digest(name: str, what: str) -> str:
    """A name with the digest of what tells its plan from others; as much of the name as is_valid_length."""
    mark = f"-{short_digest(what)}{_ENDING}"
    stem = name.removesuffix(_ENDING)
    while not is_valid_length(stem + mark):
        stem = stem[:-1]
    return stem + mark


def report_name(name: str) -> str:
    """The name of the report about a plan, which lies beside it."""
    stem, ending = name.rpartition(".")[0], ".review.md"
    while not is_valid_length(stem + ending):
        stem = stem[:-1]
    return stem + ending


def method_key(class_name: str, method_type: str, method: str) -> str:
    """What the digest in the name of a further method's plan is made of."""
    return f"{class_name}\n{method_type}\n{method}"


@dataclass(frozen=True)
class PlanFile:
    """The bytes of a plan; None where there is no file."""

    path: str
    source: bytes | None
    limits: Limits = DEFAULT  # of reading it

    @property
    def exists(self) -> bool:
        return self.source is not None

    @cached_property
    def data(self) -> JsonObject | None:
        """What it says; None when that cannot be read as a map."""
        try:
            value = TestPlan.decode(self.source or b"", self.limits)
        except EncodingError:
            return None
        return value if isinstance(value, dict) else None

    def section(self, name: str) -> JsonObject:
        """A section; empty when it is absent or something else."""
        value = (self.data or {}).get(name)
        return value if isinstance(value, dict) else {}

    @property
    def file(self) -> str | None:
        """The source that the plan is about, as it says."""
        file = self.section("target").get("file")
        return file.removeprefix("./") if isinstance(file, str) else None

    def is_about(self, file: str, root: str) -> bool:
        """Whether it is the plan of this source of the project; an absolute path is wrong, but it tells."""
        return self.file is not None and os.path.normpath(os.path.join(root, self.file)) == os.path.join(
            root, file
        )


def read_plan_file(path: str, limits: Limits) -> PlanFile:
    """The plan file at a path, which need not exist."""
    try:
        return PlanFile(path, read_file(path, limits.size, only_regular=True), limits)
    except RuncardError as error:
        if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError):
            return PlanFile(path, None, limits)
        raise


METHOD_TYPES = ("instance", "class")


class MethodRef(NamedTuple):
    """The method that is method_ref about, as far as it was named."""

    class_name: str | None = None
    method: str | None = None
    method_type: str | None = None

    @classmethod
    def of(cls, target: JsonObject) -> "MethodRef":
        """The method that a plan is about, as far as it says so."""
        named = (target.get(key) for key in ("class", "method", "method_type"))
        return cls(*(name if isinstance(name, str) else None for name in named))

    def is_of(self, target: JsonObject) -> bool:
        wanted = zip(("class", "method", "method_type"), self, strict=True)
        return all(value is None or _bare(target.get(key)) == _bare(value) for key, value in wanted)

    @property
    def key(self) -> str | None:
        """What the name of its own plan is made of; None unless everything was named."""
        class_name, method, method_type = self
        if class_name is None or method is None or method_type is None:
            return None
        return method_key(class_name.removeprefix("::"), method_type, method)


def _bare(name: object) -> object:
    return name.removeprefix("::") if isinstance(name, str) else name


@dataclass(frozen=True, slots=True)
class PlanLocation:
    """The plan of a source: where it lies, or will lie, and what is there now."""

    project: Project
    file: str  # the source, by its path in the project; empty for a plan that names none
    plan_file: PlanFile
    is_other_method: bool = (
        False  # the documented name holds another method, and the one method_ref for has no file
    )
    warnings: tuple[str, ...] = ()
    is_outside_project: bool = (
        False  # a plan that lies in no project: where its source is can only be guessed
    )

    @property
    def path(self) -> str:
        return self.plan_file.path

    @property
    def source(self) -> str:
        return os.path.join(self.project.root, self.file)

    @property
    def is_additional(self) -> bool:
        """Whether it is the plan of a further method of its source, as its name tells."""
        key = MethodRef.of(self.plan_file.section("target")).key
        first = documented_name(self.file)
        names = {with_digest(name, key) for name in (first, with_digest(first, self.file))} if key else set()
        return os.path.basename(self.path) in names

    def check_method(self) -> None:
        """Refuse a location that is another method's, where what was method_ref for has none that could be told."""
        if self.is_other_method and self.plan_file.exists:
            raise StoreError(
                f"{printable(self.path)} is the plan of another method, and the one method_ref for cannot be told",
                hint="name --class, --method and --type in full",
            )


def is_plan_path(path: str) -> bool:
    """Whether an argument names a plan itself, not a source."""
    return path.endswith((".yml", ".yaml", ".json"))


def locate_plan(
    path: str,
    *,
    root: str | None = None,
    method_ref: MethodRef | None = None,
    limits: Limits | None = None,
    is_resolved: bool = False,
) -> PlanLocation:
    """The plan that a path stands for: of a source, or the plan itself.

    `is_resolved` says that what is method_ref for is named as the source has it, so that the source need not be read.
    """
    if "\0" in path:
        raise StoreError("a path cannot contain a NUL byte", hint="name a source file")
    limits = limits or Limits()
    if is_plan_path(path):
        return _named(path, root, limits)
    location = _of_source(path, root, limits)
    method_ref = method_ref or MethodRef()
    if location.plan_file.data is None or method_ref.is_of(location.plan_file.section("target")):
        return location
    return _of_method(location, method_ref, is_resolved=is_resolved)


def _named(path: str, root: str | None, limits: Limits) -> PlanLocation:
    plan_file = read_plan_file(path, limits)
    if not plan_file.exists:
        raise StoreError(f"{printable(path)} does not exist", hint="check the path")
    folder = os.path.dirname(os.path.realpath(path))
    project = given_project(root) if root else project_at(folder)
    if project is None:
        return PlanLocation(
            Project(folder, is_marked=False), plan_file.file or "", plan_file, is_outside_project=True
        )
    return PlanLocation(project, plan_file.file or "", plan_file)


def _of_source(source: str, root: str | None, limits: Limits) -> PlanLocation:
    """The plan of a source's first method."""
    project, file = project_of(source, root)
    if os.path.isdir(os.path.join(project.root, file)):
        raise StoreError(f"{printable(source)} is a directory", hint="name a source file")
    check_folder(project)
    warnings = [] if project.is_marked else [no_project_warning(project)]
    plan_file, remark = _own(project, file, limits)
    if remark:
        warnings.append(remark)
    return PlanLocation(project, file, plan_file, warnings=tuple(warnings))


def _own(project: Project, file: str, limits: Limits) -> tuple[PlanFile, str | None]:
    """The plan of a source's first method, and a remark when it has not the documented name."""
    name = documented_name(file)
    other = os.path.join(project.folder, with_digest(name, file))
    if not is_valid_length(name):
        return read_plan_file(other, limits), (
            f"the documented name for {file} is too long for a file: it is shortened"
        )
    plan_file = read_plan_file(os.path.join(project.folder, name), limits)
    if plan_file.exists and not _is_anothers(plan_file, file, project.root):
        return plan_file, None
    second = read_plan_file(other, limits)
    if not plan_file.exists and not second.is_about(file, project.root):
        return plan_file, None
    holder = plan_file.file or "another source"
    return second, f"{name} is the plan of {holder}: that of {file} is {os.path.basename(other)}"


def _is_anothers(plan_file: PlanFile, file: str, root: str) -> bool:
    """Whether a plan is about another source that there is, or that the plan is named after."""
    if plan_file.file is None or plan_file.is_about(file, root):
        return False
    inside = os.path.relpath(os.path.join(root, plan_file.file.replace("\0", "")), root)
    if check_relative(inside):
        return False  # it leads out of the project: that is wrong, and whose plan it is the name tells
    return documented_name(inside) == os.path.basename(plan_file.path) or os.path.exists(
        os.path.join(root, inside)
    )


def _of_method(location: PlanLocation, method_ref: MethodRef, *, is_resolved: bool) -> PlanLocation:
    """The plan of a further method of the same source: the one that is there, or the name that it will have."""
    found = _found(location, method_ref) if method_ref.key is None else _by_name(location, method_ref.key)
    if found is not None and (is_resolved or not found.is_other_method):
        return found
    full = _in_full(location, method_ref)
    if full.is_of(location.plan_file.section("target")):
        return location
    return replace(location, is_other_method=True) if full.key is None else _by_name(location, full.key)


def _by_name(location: PlanLocation, key: str) -> PlanLocation:
    """The plan of a further method by the name that it has, or will have."""
    own = os.path.join(location.project.folder, with_digest(os.path.basename(location.path), key))
    plan_file = read_plan_file(own, location.plan_file.limits)
    return replace(location, plan_file=plan_file, is_other_method=not plan_file.exists)


def _found(location: PlanLocation, method_ref: MethodRef) -> PlanLocation | None:
    """The plan of a further method, among those that there are."""
    stem = os.path.basename(location.path).removesuffix(".yml") + "-"
    for name in sorted(os.listdir(location.project.folder)):
        if is_plan_name(name) and name.startswith(stem):
            try:
                other = read_plan_file(os.path.join(location.project.folder, name), location.plan_file.limits)
            except RuncardError:
                continue  # of which nothing can be told
            if other.is_about(location.file, location.project.root) and method_ref.is_of(
                other.section("target")
            ):
                return replace(location, plan_file=other)
    return None


def _in_full(location: PlanLocation, method_ref: MethodRef) -> MethodRef:
    """The method with its class and type, as the source tells; as it was method_ref for where that is not clear."""
    from runcard.plans.ruby.targets import read_targets  # noqa: PLC0415 - its parser takes long to import

    try:
        named = read_targets(location.source).matching(*method_ref)
    except RuncardError:
        return method_ref
    if len({(target.class_name, target.method) for target in named}) != 1:
        return method_ref
    return MethodRef(named[0].class_name, named[0].method, named[0].method_type)


def no_project_warning(project: Project) -> str:
    return f"no .git and no Gemfile above it: its plans lie in {project.folder}"
