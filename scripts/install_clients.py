"""Install programs that the tests run from npm: `python scripts/install_clients.py`.

They are the coding agents, ccusage to compare with, the conformance suite and the inspector of the Model Context Protocol, with
the version of Node that both need, axe-core, which checks whether a page is accessible, and azurite, which speaks the protocol of
Azure's object storage.

They are installed into `.clients`, or the folder that RUNCARD_TEST_CLIENTS names, about 1 GB; `.clients/bin` has a link for
each. The versions are fixed here. Nothing is done where they are installed already. No package runs a script.

Exit code: 0, or 1 with one line on stderr where they cannot be installed; the tests that need them are skipped then.
"""  # noqa: INP001

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

VERSIONS = {
    "@anthropic-ai/claude-code": "2.1.197",
    "@openai/codex": "0.166.0",
    "@google/gemini-cli": "0.61.0",
    "opencode-ai": "1.18.33",
    "ccusage": "20.0.24",
    "@modelcontextprotocol/conformance": "0.1.16",
    "@modelcontextprotocol/inspector": "2.12.0",
    "axe-core": "4.14.0",
    "azurite": "3.35.0",
}
_NODE = "22.23.3"
_TIMEOUT = 600  # seconds


def client_folder() -> Path:
    """Where the agents are installed."""
    return Path(os.environ.get("RUNCARD_TEST_CLIENTS") or Path(__file__).parents[1] / ".clients")


def main() -> int:
    folder = client_folder()
    pins = [f"{name}@{version}" for name, version in VERSIONS.items()]
    pins.append(f"node-{_platform()}@{_NODE}")
    done = folder / "installed"  # written last
    if done.is_file() and done.read_text().split() == pins:
        return 0
    npm = shutil.which("npm")
    if npm is None:
        return _refuse("npm is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    options = [
        "--no-save",
        "--no-package-lock",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "--loglevel=error",
    ]
    command = [npm, "install", "--prefix", str(folder), *options, *pins]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return _refuse("npm did not end")
    if result.returncode:
        return _refuse(result.stderr.strip().splitlines()[0] if result.stderr.strip() else "npm failed")
    _link_programs(folder)
    done.write_text("\n".join(pins))
    return 0


def _link_programs(folder: Path) -> None:
    """Links to the programs; those with a binary for each platform are linked to it, since no script puts it in place."""
    modules, here = folder / "node_modules", _platform()
    programs = {
        "claude": modules / "@anthropic-ai" / f"claude-code-{here}" / "claude",
        "codex": modules / ".bin" / "codex",
        "gemini": modules / ".bin" / "gemini",
        "opencode": modules / f"opencode-{here}" / "bin" / "opencode",
        "ccusage": modules / ".bin" / "ccusage",
        "conformance": modules / ".bin" / "conformance",
        "mcp-inspector": modules / ".bin" / "mcp-inspector",
        "azurite-blob": modules / ".bin" / "azurite-blob",
        "node22": modules / f"node-{here}" / "bin" / "node",
    }
    (folder / "bin").mkdir(exist_ok=True)
    for name, program in programs.items():
        link = folder / "bin" / name
        link.unlink(missing_ok=True)
        link.symlink_to(os.path.relpath(program, link.parent))


def _platform() -> str:
    machine = platform.machine()
    return f"{sys.platform}-{ {'x86_64': 'x64', 'aarch64': 'arm64'}.get(machine, machine) }"


def _refuse(reason: str) -> int:
    hint = "the tests with real coding agents are skipped"
    print(f"Warning: could not install the coding agents from npm: {reason}; {hint}", file=sys.stderr)  # noqa: T201
    return 1


if __name__ == "__main__":
    sys.exit(main())
