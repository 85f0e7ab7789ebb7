"""The kind of a class: its superclass decides, and the folder where that is a class of the project."""

import pytest

from runcard.plans.spec_kinds import SpecKind, kind_of


@pytest.mark.parametrize(
    ("file", "superclass", "kind"),
    [
        ("app/models/user.rb", "ApplicationRecord", SpecKind.MODEL),
        ("app/models/admin.rb", "User", SpecKind.MODEL),
        ("app/models/cron_job.rb", "Job", SpecKind.MODEL),
        ("app/models/price.rb", "", SpecKind.PLAIN),
        ("lib/user.rb", "ActiveRecord::Base", SpecKind.MODEL),
        ("app/models/mailer.rb", "ActionMailer::Base", SpecKind.MAILER),
        ("app/models/notifier.rb", "::ApplicationMailer", SpecKind.MAILER),
        ("app/models/sweep.rb", "ApplicationJob", SpecKind.JOB),
        ("app/models/user_policy.rb", "ApplicationPolicy", SpecKind.POLICY),
        ("app/jobs/sweep.rb", "Sweeper", SpecKind.PLAIN),
        ("lib/sweep.rb", "Base::Job", SpecKind.JOB),
    ],
)
def test_the_superclass_decides_before_the_folder(file: str, superclass: str, kind: SpecKind) -> None:
    assert kind_of(file, superclass, is_module=False, is_concern=False) is kind
