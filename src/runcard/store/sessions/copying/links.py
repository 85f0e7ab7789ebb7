"""Whether a symbolic link stays inside its workspace.

It is resolved step by step, without the system following anything, because a link can lead out through another link.
An absolute link leads out even when it points into the workspace: from the copy, it would point to the source.
"""

import errno
import os

_MOST = 40  # links on the way, as the kernel has it; a loop leads nowhere, and so not out


def stays_inside(root: int, folder: bytes, target: bytes) -> bool:
    """Whether a link in `folder` with the text `target` leads to nothing outside the directory `root`.

    Raises OSError when that cannot be told.
    """
    here = folder.split(b"/") if folder else []
    steps = [target]
    for _ in range(_MOST):
        step = steps.pop()
        if step.startswith(b"/"):
            return False
        steps += reversed([part for part in step.split(b"/") if part not in {b"", b"."}])
        while steps:
            part = steps.pop()
            if part == b"..":
                if not here:
                    return False
                here.pop()
            elif (inner := _link_text(root, [*here, part])) is None:
                here.append(part)
            else:
                steps.append(inner)
                break
        else:
            return True
    return True


def _link_text(root: int, parts: list[bytes]) -> bytes | None:
    try:
        return os.readlink(b"/".join(parts), dir_fd=root)
    except OSError as error:
        if error.errno in {errno.EINVAL, errno.ENOENT, errno.ENOTDIR}:
            return None  # no link
        raise
