"""Check that installing runcard compiles nothing: that every dependency has a wheel for every Python and platform.

Looked at are the requirements of the base installation in pyproject.toml, and what these require. pip installs the newest release
that a requirement allows, even if another one has a wheel; so that release needs one, as do the one in constraints.txt and, on
the oldest Python, the oldest one that is allowed. The package index is that of pip, with all of its settings.

A release that came out after the pinned one is only a warning: it is no fault of a change.

Usage: check_wheels.py [FOLDER], where FOLDER has a pyproject.toml and a constraints.txt. Exit code: 0, or 1 if a wheel is missing for a
Python that the classifiers name. Other Pythons are only reported.
"""  # noqa: INP001

import logging
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version
from pip._internal.commands import create_command  # only pip itself reads all of its settings
from pip._internal.index.collector import LinkCollector, parse_links
from pip._internal.models.link import Link

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
_CLASSIFIER = re.compile(r"Programming Language :: Python :: (3\.\d+)")
_MACHINES = {"linux": ("x86_64", "aarch64"), "darwin": ("x86_64", "arm64")}


class Platform(NamedTuple):
    """A platform as wheels and markers name it."""

    name: str
    system: str
    machine: str
    tags: list[str]


def _platforms() -> Iterator[Platform]:
    for machine in _MACHINES["linux"]:
        glibc = [f"manylinux_2_{minor}_{machine}" for minor in range(28, 4, -1)]
        glibc += [f"manylinux{year}_{machine}" for year in (2014, 2010, 1)]
        yield Platform(f"glibc {machine}", "linux", machine, glibc)
        musl = [f"musllinux_1_{minor}_{machine}" for minor in (2, 1, 0)]
        yield Platform(f"musl {machine}", "linux", machine, musl)
    for machine in _MACHINES["darwin"]:
        yield Platform(f"macOS {machine}", "darwin", machine, list(mac_platforms((11, 0), machine)))


PLATFORMS = tuple(_platforms())


class Target(NamedTuple):
    """A Python on a platform."""

    python: str
    platform: Platform

    def tags(self) -> set[Tag]:
        version = tuple(map(int, self.python.split(".")))
        short = "cp" + self.python.replace(".", "")
        return {
            *cpython_tags(version, [short], self.platform.tags),
            *compatible_tags(version, short, self.platform.tags),
        }

    def needs(self, requirement: Requirement) -> bool:
        """Whether the marker of a requirement applies here."""
        is_mac = self.platform.system == "darwin"
        environment = {
            "extra": "",
            "implementation_name": "cpython",
            "os_name": "posix",
            "platform_machine": self.platform.machine,
            "platform_python_implementation": "CPython",
            "platform_system": "Darwin" if is_mac else "Linux",
            "python_full_version": f"{self.python}.0",
            "python_version": self.python,
            "sys_platform": self.platform.system,
        }
        return requirement.marker is None or requirement.marker.evaluate(environment)


class Releases:
    """The files of a project in the index."""

    def __init__(self, links: list[Link]) -> None:
        self._wheels: dict[Version, set[Tag]] = {}
        self._requires: dict[Version, SpecifierSet] = {}
        for link in links:
            if link.yanked_reason is None:
                self._add(link)

    def _add(self, link: Link) -> None:
        try:
            if link.filename.endswith(".whl"):
                _, version, _, tags = parse_wheel_filename(link.filename)
            else:
                (_, version), tags = parse_sdist_filename(link.filename), frozenset()
        except (InvalidWheelFilename, InvalidSdistFilename):  # formats of long ago
            return
        self._wheels.setdefault(version, set()).update(tags)
        self._requires[version] = SpecifierSet(link.requires_python or "")

    def allowed(self, specifier: SpecifierSet, python: str) -> list[Version]:
        """The versions that pip chooses from, oldest first."""
        return sorted(
            version
            for version in self._wheels
            if not version.is_prerelease
            and specifier.contains(version)
            and self._requires[version].contains(f"{python}.0")
        )

    def has_wheel(self, version: Version, target: Target) -> bool:
        return not self._wheels.get(version, set()).isdisjoint(target.tags())


class Row(NamedTuple):
    """A release that an installation may get, and by Python and platform whether it has a wheel."""

    release: str
    why: str
    wheels: dict[str, dict[str, bool]]

    @property
    def is_later(self) -> bool:
        """Whether it came out after the pinned release."""
        return self.why == "newest"

    def missing(self, python: str) -> str:
        """What has no wheel, in words; empty if nothing."""
        names = [name for name, found in self.wheels.get(python, {}).items() if not found]
        return f"{self.release} ({', '.join(names)})" if names else ""

    def cell(self, python: str) -> str:
        found = self.wheels.get(python, {}).values()
        return f"{sum(found)}/{len(found)}" if found else "-"


def main(folder: Path) -> int:
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    lines = (folder / "constraints.txt").read_text("utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    versions = {str(canonicalize_name(name)): Version(pin) for name, pin in pins.items()}
    requirements = with_dependencies(map(Requirement, project["dependencies"]))
    rows = [row for requirement in requirements for row in check(requirement, versions)]
    promised = {match[1] for text in project["classifiers"] if (match := _CLASSIFIER.fullmatch(text))}
    return report(rows, promised)


def with_dependencies(requirements: Iterator[Requirement]) -> Iterator[Requirement]:
    """Requirements and, as far as they are installed here, what they require on one of the targets."""
    waiting, seen = list(requirements), set()
    while waiting:
        requirement = waiting.pop(0)
        if str(requirement) in seen or not any(_targets(requirement)):
            continue
        seen.add(str(requirement))
        yield requirement
        try:
            waiting += map(Requirement, requires(requirement.name) or ())
        except PackageNotFoundError:  # its marker excludes this Python
            continue


def _targets(requirement: Requirement) -> Iterator[Target]:
    targets = (Target(python, platform) for python in PYTHONS for platform in PLATFORMS)
    return (target for target in targets if target.needs(requirement))


def check(requirement: Requirement, pins: dict[str, Version]) -> Iterator[Row]:
    releases = Releases(index_links(requirement.name))
    pin = pins[canonicalize_name(requirement.name)]
    if not requirement.specifier.contains(pin):
        raise SystemExit(f"Error: constraints.txt has {requirement.name}=={pin}, which is not {requirement}")
    reasons: dict[Version, set[str]] = {}
    wheels: dict[Version, dict[str, dict[str, bool]]] = {}
    for target in _targets(requirement):
        allowed = releases.allowed(requirement.specifier, target.python)
        if not allowed:
            raise SystemExit(f"Error: the index has no release of {requirement} for Python {target.python}")
        wanted = {"newest": allowed[-1], "pinned": pin}
        if target.python == PYTHONS[0]:
            wanted["oldest"] = allowed[0]
        for reason, version in wanted.items():
            reasons.setdefault(version, set()).add(reason)
            found = wheels.setdefault(version, {}).setdefault(target.python, {})
            found[target.platform.name] = releases.has_wheel(version, target)
    for version in sorted(wheels, reverse=True):
        yield Row(f"{requirement.name} {version}", ", ".join(sorted(reasons[version])), wheels[version])


def index_links(name: str) -> list[Link]:
    """The files of a project, in the index that pip is set up for."""
    logging.getLogger("pip").setLevel(logging.ERROR)  # a second index need not have every project
    command = create_command("download")
    with command.main_context():
        options, _ = command.parse_args([])
        collector = LinkCollector.create(command.get_default_session(options), options)  # type: ignore[attr-defined]

        def read_page(link: Link) -> list[Link]:
            page = collector.fetch_response(link, name)
            return [] if page is None else list(parse_links(page))

        found = collector.collect_sources(name, read_page)  # type: ignore[arg-type] # links instead of candidates
        sources = [source for source in (*found.index_urls, *found.find_links) if source is not None]
        links = [link for source in sources for link in (*source.page_candidates(), *source.file_links())]
    return [link for link in links if isinstance(link, Link)]


def report(rows: list[Row], promised: set[str]) -> int:
    sys.stdout.writelines(
        _table([["", "", *PYTHONS], *([row.release, row.why, *map(row.cell, PYTHONS)] for row in rows)])
    )
    failed = False
    for python in PYTHONS:
        missing = "; ".join(filter(None, (row.missing(python) for row in rows if not row.is_later)))
        later = "; ".join(filter(None, (row.missing(python) for row in rows if row.is_later)))
        if later and python in promised:
            sys.stderr.write(f"Warning: Python {python}: no wheel of {later}: exclude it in pyproject.toml\n")
        if missing and python in promised:
            failed = True
            sys.stderr.write(f"Error: Python {python}: no wheel of {missing}\n")
        elif missing:
            sys.stdout.write(f"Python {python} is not in the classifiers: no wheel of {missing}\n")
        elif python not in promised:
            sys.stdout.write(f"Python {python} is not in the classifiers, but every wheel exists.\n")
    return 1 if failed else 0


def _table(lines: list[list[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(map(str.ljust, line, widths)).rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else ROOT))
