"""Copying as an ordinary user: what may not be read is an omission, and the rest is kept."""

from files.unprivileged import as_nobody, everybodys_directory
from sessions.copying.workspaces import make

CODE = """
copied = copying.copy_workspace(root + "/ws", root + "/copy", rules=copying.CopyRules())
print([file.path for file in copied.files])
for omission in copied.omissions: print(omission.path, "-", omission.reason)
print(oct(os.stat(root + "/copy/kept").st_mode & 0o7777), oct(os.stat(root + "/copy/ro").st_mode & 0o7777))
log = copying.copy_log(root + "/ws/closed", root + "/output.log", rules=copying.CopyRules())
print(log.omissions[0].reason)
"""


def test_what_may_not_be_read_is_named_and_the_rest_is_kept() -> None:
    with everybodys_directory() as root:
        source = make(root / "ws", {"kept": "x", "closed": "x", "dir/x": "", "blind/y": "", "ro/z": ""})
        (source / "ro").chmod(0o555)
        (source / "closed").chmod(0)
        (source / "dir").chmod(0)
        (source / "blind").chmod(0o644)
        assert as_nobody(root, CODE).splitlines() == [
            "['kept', 'ro/z']",
            "blind - cannot be read: Permission denied",
            "closed - cannot be read: Permission denied",
            "dir - cannot be read: Permission denied",
            "0o600 0o500",
            "cannot be read: Permission denied",
        ]


def test_a_workspace_that_may_not_be_read_is_named() -> None:
    with everybodys_directory() as root:
        make(root / "ws", {"a": ""}).chmod(0)
        said = as_nobody(
            root,
            "print(copying.copy_workspace(root + '/ws', root + '/copy', rules=copying.CopyRules()).omissions)",
        )
        assert "the workspace cannot be read: Permission denied" in said
