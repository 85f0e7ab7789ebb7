"""The notebook that this process runs, if it is the kernel of one.

Jupyter tells a kernel the path in the variable JPY_SESSION_NAME, VS Code in a variable of the notebook's own. A program that
a cell starts inherits the variable and is not the notebook, so the kernel itself is looked for first. A path that names
no notebook on this disk is unknown.
"""

import os
import sys

NOTEBOOK = "JPY_SESSION_NAME"  # the variable of Jupyter

_BY_VS_CODE = "__vsc_ipynb_file__"


def notebook_path() -> str | None:
    """The absolute path of the notebook; None outside of a kernel, and where it is unknown."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get_shell() if callable(get_shell) else None
    if getattr(shell, "kernel", None) is None:
        return None
    variables = getattr(shell, "user_ns", {})
    for path in (variables.get(_BY_VS_CODE), os.environ.get(NOTEBOOK)):
        if isinstance(path, str) and path.endswith(".ipynb") and os.path.isfile(path):
            return os.path.abspath(path)
    return None
