"""The kind of a class, which decides how its examples look: a model, a job, a controller and so on.

The superclass decides, and the folder where the superclass is not known.
"""

import re
from enum import Enum

_FOLDER = re.compile(r"(?:^|/)app/(\w+)/")
_RECORDS = re.compile(r"(?:::)?(?:ApplicationRecord|ActiveRecord::Base)")
_JOBS = re.compile(r"(?:::)?(?:\w+::)*(?:\w*Job|ActiveJob::Base)")
_MAILERS = re.compile(r"(?:::)?(?:\w+::)*(?:\w*Mailer|ActionMailer::Base)")
_POLICIES = re.compile(r"(?:::)?(?:\w+::)*\w*Policy")
_CONTROLLERS = re.compile(r"(?:::)?(?:\w+::)*(?:\w*Controller|ActionController::(?:Base|API))")
_BASES = re.compile(
    r"(?:::)?(?:Application(?:Mailer|Job|Controller|Policy)|(?:ActionMailer|ActiveJob|ActionController)::\w+)"
)


class SpecKind(Enum):
    """The kind of a class: its type in RSpec, and the class that a host of its modules inherits from."""

    PLAIN = (None, None)
    MODEL = ("model", None)
    REQUEST = ("request", None)
    JOB = ("job", None)
    MAILER = ("mailer", None)
    POLICY = ("policy", None)
    RECORD_CONCERN = ("model", "ApplicationRecord")
    CONTROLLER_CONCERN = (None, "ApplicationController")

    def __init__(self, rspec_type: str | None, host_base: str | None) -> None:
        self.rspec_type = rspec_type
        self.host_base = host_base


def kind_of(file: str, superclass: str, *, is_module: bool, is_concern: bool) -> SpecKind:
    """The kind of a class or module in a file of a project."""
    folder = match[1] if (match := _FOLDER.search(file)) else ""
    if is_module:
        if not is_concern:
            return SpecKind.PLAIN
        by_folder = {"models": SpecKind.RECORD_CONCERN, "controllers": SpecKind.CONTROLLER_CONCERN}
        return by_folder.get(folder, SpecKind.PLAIN)
    is_inherited = folder == "models" and superclass[:1].isupper() and not _BASES.fullmatch(superclass)
    if _RECORDS.fullmatch(superclass) or is_inherited:
        return SpecKind.MODEL
    if _CONTROLLERS.fullmatch(superclass):
        return SpecKind.REQUEST
    if _JOBS.fullmatch(superclass):
        return SpecKind.JOB
    if _MAILERS.fullmatch(superclass):
        return SpecKind.MAILER
    if _POLICIES.fullmatch(superclass) or folder == "policies":
        return SpecKind.POLICY
    return SpecKind.PLAIN
