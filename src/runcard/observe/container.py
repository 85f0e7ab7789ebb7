"""The container that the process runs in, as far as it is visible from the inside.

Runtimes leave traces: files, environment variables, names of control groups, and mounts. The outermost common name is used
(`kubernetes`, whatever runtime it uses). Virtual machines are not containers.

Invariant: without a trace there is no container, and an id or image without a trace is None.
"""

import os
import re
from collections.abc import Mapping
from functools import lru_cache

from runcard.files import json_name

_HEX = "[0-9a-f]{64}"
# Patterns are compiled when they are first used: few processes run in a container.
_CONTROL_GROUP = rf"(?m)(?:^|[/:-])({_HEX})(?:\.scope)?$"
_MOUNT = rf"(?m)^\S+ \S+ \S+ \S*/(?:overlay-)?containers/({_HEX})/\S* /etc/(?:hostname|hosts|resolv\.conf) "
_GROUPS = {  # a fixed part of the pattern, and the pattern
    "kubernetes": ("kubepods", r"[/:-]kubepods\b"),
    "podman": ("libpod", rf"[/:]libpod-{_HEX}"),
    "docker": ("docker", rf"[/:]docker[/-]{_HEX}"),  # the daemon itself is in docker.service
    "lxc": ("lxc", r"[/:]lxc(?:\.payload)?[./]"),
}
_VARIABLES = ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "KUBERNETES_SERVICE_HOST", "container")
_LARGEST = 1 << 20  # bytes of a file that are read


def own_container(variables: Mapping[str, str]) -> dict[str, str | None] | None:
    """The container of this process, with these variables. Its files are read once: a process stays in its container."""
    used = tuple((name, variables[name]) for name in _VARIABLES if name in variables)
    found = _container_of(os.getpid(), used)
    return None if found is None else dict(found)


@lru_cache(maxsize=4)
def _container_of(_process: int, variables: tuple[tuple[str, str], ...]) -> dict[str, str | None] | None:
    return container(dict(variables))


def container(variables: Mapping[str, str], root: str = "/") -> dict[str, str | None] | None:
    """`runtime`, `id` and `image`; None outside a container."""
    for runtime in ("apptainer", "singularity"):
        if image := variables.get(f"{runtime.upper()}_CONTAINER"):
            return {"runtime": runtime, "id": None, "image": json_name(image).text}
    note = _podman_note(root)
    runtime_name = _runtime(variables, root, note)
    if runtime_name is None:
        return None
    note = note or {}
    return {
        "runtime": json_name(runtime_name).text,
        "id": note.get("id") or _container_id(root),
        "image": note.get("image") or None,
    }


def _runtime(variables: Mapping[str, str], root: str, note: Mapping[str, str] | None) -> str | None:
    if variables.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    if note is not None:
        return "podman"
    if os.path.lexists(os.path.join(root, ".dockerenv")):
        return "docker"
    name = variables.get("container") or _text(root, "run/systemd/container").strip()
    return name or _by_control_group(root)


def _by_control_group(root: str) -> str | None:
    groups = _text(root, "proc/self/cgroup")
    for name, (word, pattern) in _GROUPS.items():
        if word in groups and re.search(pattern, groups):
            return name
    return None


def _podman_note(root: str) -> dict[str, str] | None:
    """The file that podman writes into a container: lines such as `image="docker.io/library/python:3.12"`."""
    if not os.path.lexists(os.path.join(root, "run/.containerenv")):
        return None
    lines = [line.partition("=") for line in _text(root, "run/.containerenv").splitlines()]
    return {name: value.strip('"') for name, equals, value in lines if equals}


def _container_id(root: str) -> str | None:
    """The id in the name of the control group, or in the path that the runtime mounts a file from."""
    match = re.search(_CONTROL_GROUP, _text(root, "proc/self/cgroup")) or re.search(
        _MOUNT, _text(root, "proc/self/mountinfo")
    )
    return match[1] if match else None


def _text(root: str, path: str) -> str:
    try:
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            return file.read(_LARGEST)
    except OSError:
        return ""
