"""List the factories of a project."""

import os
from dataclasses import dataclass

from runcard.encoding import JsonObject
from runcard.errors import DocumentError, StoreError
from runcard.files import printable
from runcard.plans.project import given_project, project_at
from runcard.plans.ruby import read_factories
from runcard.plans.ruby.factories import FactoryDetails
from runcard.plans.ruby.factory_files import owner_of


@dataclass(frozen=True, slots=True)
class FactoryList:
    """The factories below a path."""

    factories: JsonObject
    warnings: list[str]

    def to_dict(self) -> JsonObject:
        return self.factories


def list_factories(path: str, *, root: str | None = None, in_detail: bool = False) -> FactoryList:
    """Read the factories of a project, a part of it, or a file; raises RuncardError when nothing could be read."""
    start = os.path.realpath(path)
    if not os.path.exists(start):
        raise StoreError(f"{printable(path)} does not exist", hint="pass a directory of the project")
    factories = read_factories(start, _root(path, start, root))
    warnings = list(map(str, factories.warnings))
    if not factories.known:
        if factories.is_incomplete:
            more = f" (and {len(warnings) - 1} more)" if len(warnings) > 1 else ""
            raise DocumentError(
                f"no factory could be read in {printable(path)}: {warnings[0]}{more}",
                hint="fix the file, or pass another directory",
            )
        warnings.append("no factories found in spec/factories and test/factories")
    if not in_detail:
        return FactoryList(factories.to_dict(), warnings)
    details = FactoryDetails(factories)
    return FactoryList(details.to_dict(), [*warnings, *map(str, details.warnings)])


def _root(path: str, start: str, root: str | None) -> str:
    """The project that contains a path; without one, the path itself."""
    if root is None:
        project = project_at(start if os.path.isdir(start) else os.path.dirname(start))
        return (
            project.root if project else owner_of(start if os.path.isdir(start) else os.path.dirname(start))
        )
    given = given_project(root).root
    if os.path.commonpath([given, start]) != given:
        raise StoreError(
            f"{printable(path)} is not below the root {printable(given)}",
            hint="pass a directory of this project, or another --root",
        )
    return given


def default_path(root: str | None) -> str:
    """The project to read when no path is given."""
    here = project_at(os.curdir)
    return root or (here.root if here else os.curdir)
