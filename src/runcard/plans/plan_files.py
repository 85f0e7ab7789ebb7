"""Which file is the plan of a source: the documented name, unless it is another's.

A plan belongs to the source that its `target.file` names, whatever the file is called; a file that names none, or one
that cannot be, belongs to whom its name says. The first owner of a name keeps it.
"""

import os
from dataclasses import dataclass, replace
from typing import NamedTuple

from runcard.encoding import JsonObject, Limits
from runcard.errors import RuncardError, StoreError
from runcard.files import check_relative, printable
from runcard.plans.file_names import distinguished, documented_name, fits, is_plan_name, method_key
from runcard.plans.plan_text import Stored, read_stored
from runcard.plans.project import Project, check_folder, given_project, project_at, project_of

METHOD_TYPES = ("instance", "class")


class Asked(NamedTuple):
    """The method that is asked about, as far as it was named."""

    class_name: str | None = None
    method: str | None = None
    method_type: str | None = None

    @classmethod
    def of(cls, target: JsonObject) -> "Asked":
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
class Place:
    """The plan of a source: where it lies, or will lie, and what is there now."""

    project: Project
    file: str  # the source, by its path in the project; empty for a plan that names none
    stored: Stored
    is_other: bool = False  # the documented name holds another method, and the one asked for has no file
    warnings: tuple[str, ...] = ()
    is_loose: bool = False  # a plan that lies in no project: where its source is can only be guessed

    @property
    def path(self) -> str:
        return self.stored.path

    @property
    def source(self) -> str:
        return os.path.join(self.project.root, self.file)

    @property
    def is_further(self) -> bool:
        """Whether it is the plan of a further method of its source, as its name tells."""
        key = Asked.of(self.stored.section("target")).key
        first = documented_name(self.file)
        names = (
            {distinguished(name, key) for name in (first, distinguished(first, self.file))} if key else set()
        )
        return os.path.basename(self.path) in names

    def check_own(self) -> None:
        """Refuse a place that is another method's, where what was asked for has none that could be told."""
        if self.is_other and self.stored.exists:
            raise StoreError(
                f"{printable(self.path)} is the plan of another method, and the one asked for cannot be told",
                hint="name --class, --method and --type in full",
            )


def is_plan_path(path: str) -> bool:
    """Whether an argument names a plan itself, not a source."""
    return path.endswith((".yml", ".yaml", ".json"))


def place_of(
    path: str,
    *,
    root: str | None = None,
    asked: Asked | None = None,
    limits: Limits | None = None,
    is_full: bool = False,
) -> Place:
    """The plan that a path stands for: of a source, or the plan itself.

    `is_full` says that what is asked for is named as the source has it, so that the source need not be read.
    """
    if "\0" in path:
        raise StoreError("a path cannot contain a NUL byte", hint="name a source file")
    limits = limits or Limits()
    if is_plan_path(path):
        return _named(path, root, limits)
    place = _of_source(path, root, limits)
    asked = asked or Asked()
    if place.stored.data is None or asked.is_of(place.stored.section("target")):
        return place
    return _of_method(place, asked, is_full=is_full)


def _named(path: str, root: str | None, limits: Limits) -> Place:
    stored = read_stored(path, limits)
    if not stored.exists:
        raise StoreError(f"{printable(path)} does not exist", hint="check the path")
    folder = os.path.dirname(os.path.realpath(path))
    project = given_project(root) if root else project_at(folder)
    if project is None:
        return Place(Project(folder, is_marked=False), stored.file or "", stored, is_loose=True)
    return Place(project, stored.file or "", stored)


def _of_source(source: str, root: str | None, limits: Limits) -> Place:
    """The plan of a source's first method."""
    project, file = project_of(source, root)
    if os.path.isdir(os.path.join(project.root, file)):
        raise StoreError(f"{printable(source)} is a directory", hint="name a source file")
    check_folder(project)
    warnings = [] if project.is_marked else [homeless(project)]
    stored, remark = _own(project, file, limits)
    if remark:
        warnings.append(remark)
    return Place(project, file, stored, warnings=tuple(warnings))


def _own(project: Project, file: str, limits: Limits) -> tuple[Stored, str | None]:
    """The plan of a source's first method, and a remark when it has not the documented name."""
    name = documented_name(file)
    other = os.path.join(project.folder, distinguished(name, file))
    if not fits(name):
        return read_stored(other, limits), (
            f"the documented name for {file} is too long for a file: it is shortened"
        )
    stored = read_stored(os.path.join(project.folder, name), limits)
    if stored.exists and not _is_anothers(stored, file, project.root):
        return stored, None
    second = read_stored(other, limits)
    if not stored.exists and not second.is_about(file, project.root):
        return stored, None
    holder = stored.file or "another source"
    return second, f"{name} is the plan of {holder}: that of {file} is {os.path.basename(other)}"


def _is_anothers(stored: Stored, file: str, root: str) -> bool:
    """Whether a plan is about another source that there is, or that the plan is named after."""
    if stored.file is None or stored.is_about(file, root):
        return False
    inside = os.path.relpath(os.path.join(root, stored.file.replace("\0", "")), root)
    if check_relative(inside):
        return False  # it leads out of the project: that is wrong, and whose plan it is the name tells
    return documented_name(inside) == os.path.basename(stored.path) or os.path.exists(
        os.path.join(root, inside)
    )


def _of_method(place: Place, asked: Asked, *, is_full: bool) -> Place:
    """The plan of a further method of the same source: the one that is there, or the name that it will have."""
    found = _found(place, asked) if asked.key is None else _by_name(place, asked.key)
    if found is not None and (is_full or not found.is_other):
        return found
    full = _in_full(place, asked)
    if full.is_of(place.stored.section("target")):
        return place
    return replace(place, is_other=True) if full.key is None else _by_name(place, full.key)


def _by_name(place: Place, key: str) -> Place:
    """The plan of a further method by the name that it has, or will have."""
    own = os.path.join(place.project.folder, distinguished(os.path.basename(place.path), key))
    stored = read_stored(own, place.stored.limits)
    return replace(place, stored=stored, is_other=not stored.exists)


def _found(place: Place, asked: Asked) -> Place | None:
    """The plan of a further method, among those that there are."""
    stem = os.path.basename(place.path).removesuffix(".yml") + "-"
    for name in sorted(os.listdir(place.project.folder)):
        if is_plan_name(name) and name.startswith(stem):
            try:
                other = read_stored(os.path.join(place.project.folder, name), place.stored.limits)
            except RuncardError:
                continue  # of which nothing can be told
            if other.is_about(place.file, place.project.root) and asked.is_of(other.section("target")):
                return replace(place, stored=other)
    return None


def _in_full(place: Place, asked: Asked) -> Asked:
    """The method with its class and type, as the source tells; as it was asked for where that is not clear."""
    from runcard.plans.ruby.targets import read_targets  # noqa: PLC0415 - its parser takes long to import

    try:
        named = read_targets(place.source).named(*asked)
    except RuncardError:
        return asked
    if len({(target.class_name, target.method) for target in named}) != 1:
        return asked
    return Asked(named[0].class_name, named[0].method, named[0].method_type)


def homeless(project: Project) -> str:
    return f"no .git and no Gemfile above it: its plans lie in {project.folder}"
