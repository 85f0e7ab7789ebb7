"""Optional parts of runcard: the modules of each extra, and the command that installs it into this environment."""

import os
import re
import shlex
import sys
from collections.abc import Callable
from importlib.util import find_spec

from runcard.errors import MachineError, RuncardError

MODULES = {
    "ruby": ("tree_sitter", "tree_sitter_ruby"),
    "tokens": ("splintr",),
    "arrow": ("pyarrow",),
    "sign": ("cryptography",),
    "postgres": ("psycopg",),
    "s3": ("obstore", "boto3"),
    "cluster": ("dask", "distributed"),
    "web": ("jinja2", "markdown_it", "nh3", "starlette", "uvicorn"),
    "mcp": ("mcp",),
    "sdk": ("anthropic", "openai", "google.genai"),
}
_TOOLS = {  # that manage an environment, by the file that they write into it
    "pipx_metadata.json": "pipx install --force",
    "uv-receipt.toml": "uv tool install --force",
}


def missing_package(
    need: str, package: str, extra: str, error: Callable[..., RuncardError] = MachineError
) -> RuncardError:
    """The error for a package of an extra that is not installed; `need` is what needs it, with the verb."""
    return error(f"{need} the package {package}, which is not installed", hint=install_hint(extra))


def install_hint(extra: str) -> str:
    """The hint of every message about an extra that is missing."""
    return f"install the extra {extra}: {install_command(extra)}"


def missing_modules(extra: str) -> tuple[str, ...]:
    """The modules of an extra that are not installed."""
    return tuple(module for module in MODULES[extra] if not _is_installed(module))


def install_command(extra: str) -> str:
    """A command for the shell, from where runcard itself was installed; without that, with the packages by name.

    pipx and `uv tool` make their environment anew, so the extras that it has are named, too.
    """
    source, options = _source()
    if source is None:
        return pip_command(*_packages(extra))
    for name, install in _TOOLS.items():
        if os.path.exists(os.path.join(sys.prefix, name)):
            every = [name for name in MODULES if name == extra or not missing_modules(name)]
            return f"{install} {shlex.join([*options, source.format(','.join(every))])}"
    return pip_command(*options, source.format(extra))


def pip_command(*arguments: str) -> str:
    """A command for the shell that installs packages into this environment, even if it has no pip."""
    uv = ["uv", "pip", "install", "--python", sys.executable]
    pip = [sys.executable, "-m", "pip", "install"]
    return shlex.join([*(pip if _is_installed("pip") else uv), *arguments])


def _source() -> tuple[str | None, list[str]]:
    """The requirement that installed runcard, with {} for the extras, and its options; None if it cannot be used again."""
    import json  # noqa: PLC0415 - only for a message
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415
    from urllib.parse import unquote, urlsplit  # noqa: PLC0415

    try:
        origin = json.loads(distribution("runcard").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return None, []
    url = origin.get("url", "")
    if url.startswith("file:") and "vcs_info" not in origin:
        path = unquote(urlsplit(url).path)
        is_editable = origin.get("dir_info", {}).get("editable", False)
        brackets = path.replace("{", "{{").replace("}", "}}") + "[{}]"
        return (brackets if os.path.exists(path) else None), ["--editable"] if is_editable else []
    if vcs := origin.get("vcs_info"):
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    return (f"runcard[{{}}] @ {url}" if url else None), []


def _packages(extra: str) -> list[str]:
    """The packages of an extra, as the metadata of runcard name them."""
    from importlib.metadata import PackageNotFoundError, requires  # noqa: PLC0415 - only for a message

    try:
        stated = requires("runcard") or []
    except PackageNotFoundError:
        return [f"runcard[{extra}]"]
    marker = re.compile(rf"extra == [\"']{extra}[\"']")
    return [text.partition(";")[0].strip() for text in stated if marker.search(text)]


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # its package is missing, or broken
        return False
