"""The project that a server works in: files outside of it can be neither named nor reached by a link."""

import os

from runcard.errors import StoreError
from runcard.files import printable
from runcard.plans.plan_files import is_among_plans, is_plan_path
from runcard.plans.project import Project, project_at


class ProjectFolder:
    """The root of the project at the current directory; without one, the directory itself."""

    def __init__(self, folder: str | None = None) -> None:
        start = os.path.realpath(folder or os.curdir)
        project = project_at(start)
        self.start = start
        self.root = project.root if project else start

    def path(self, text: str) -> str:
        """The real path of a file that is named by its path in the project; it need not exist."""
        if "\0" in text or os.pardir in text.split(os.sep):
            raise StoreError(
                f"the path {printable(text)!r} is refused: it contains '..' or a NUL byte",
                hint="name a file by its path in the project",
            )
        real = os.path.realpath(os.path.join(self.start, text))
        if os.path.commonpath([real, self.root]) != self.root:
            raise StoreError(
                f"{printable(text)} is not in the project of this server",
                hint=f"name a file by its path in {printable(self.root)}",
            )
        return real

    def source_or_plan(self, text: str) -> str:
        """The real path of a Ruby source, or of a plan in the folder of plans: no other file is taken for one."""
        real = self.path(text)
        folder = os.path.dirname(real)
        own = project_at(folder) or Project(self.root)
        if is_plan_path(real) and not (is_among_plans(real) and folder == own.folder):
            raise StoreError(
                f"{printable(text)} is not a test plan of this project",
                hint="pass the Ruby source, or the metadata_path that plan_status returns for it",
            )
        return real
