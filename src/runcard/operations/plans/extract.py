"""Extract the structure of a spec file."""

import os
from dataclasses import dataclass

from runcard.encoding import JsonObject
from runcard.files import json_name
from runcard.plans.project import project_of
from runcard.plans.ruby.spec_tree import SpecFile, read_spec


@dataclass(frozen=True, slots=True)
class SpecStructure:
    """The structure of a spec, and its path in the project."""

    file: str
    spec: SpecFile

    @property
    def warnings(self) -> list[str]:
        warnings = [f"line {warning.line}: {warning.message}" for warning in self.spec.warnings]
        return warnings if self.spec.parts else [*warnings, "no describe, context or example"]

    def to_dict(self) -> JsonObject:
        warnings = [{"line": warning.line, "message": warning.message} for warning in self.spec.warnings]
        return {
            "file": json_name(self.file).text,
            "counts": self.spec.counts(),
            "structure": [part.to_dict() for part in self.spec.parts],
            "warnings": warnings,
        }


def extract(path: str, *, root: str | None = None) -> SpecStructure:
    """Read a spec; raises RuncardError when it cannot be read, or is not in the given project."""
    project, file = project_of(path, root)
    return SpecStructure(file, read_spec(os.path.join(project.root, file)))
