"""Which projects of this user have plans, so that all plans can be listed. A project is noted when a plan is written in it."""

import os

from runcard.files.known_folders import KnownFolders
from runcard.plans.project import FOLDER, Project, is_marked

_PROJECTS = KnownFolders("projects")

note_project = _PROJECTS.note
forget_project = _PROJECTS.forget


def known_projects() -> list[Project]:
    """The projects that were noted, whether they are reachable now or not."""
    return [project_with_root(root) for root in _PROJECTS.all()]


def project_with_root(root: str) -> Project:
    """The project with this root. Its plans are below it, also if a user passed it as --root."""
    return Project(root, is_marked=has_plans(root) or is_marked(root))


def has_plans(folder: str) -> bool:
    """Whether a folder is the root of a project with plans."""
    return os.path.isdir(os.path.join(folder, "tmp", FOLDER))
