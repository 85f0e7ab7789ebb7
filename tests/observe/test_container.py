import json
import subprocess
import sys
from pathlib import Path

import pytest

from runcard.observe.container import container

ID = "0123456789abcdef" * 4


def machine(root: Path, **files: str) -> str:
    """A root file system with these files; `__` stands for `/`."""
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


def test_without_a_mark_there_is_none(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        proc__self__cgroup="0::/user.slice/session.scope\n",
        proc__self__mountinfo="1 2 0:1 / / rw\n",
    )
    assert container({}, root) is None


@pytest.mark.parametrize("group", ["0::/system.slice/docker.service", "0::/system.slice/containerd.service"])
def test_the_daemon_of_an_engine_is_in_no_container(group: str, tmp_path: Path) -> None:
    assert container({}, machine(tmp_path, proc__self__cgroup=f"{group}\n")) is None


def test_docker_is_known_by_its_file(tmp_path: Path) -> None:
    root = machine(tmp_path)
    (tmp_path / ".dockerenv").touch()
    assert container({}, root) == {"runtime": "docker", "id": None, "image": None}


@pytest.mark.parametrize("target", ["hostname", "hosts", "resolv.conf"])
def test_its_id_stands_in_its_mounts(target: str, tmp_path: Path) -> None:
    mounts = (
        f"100 99 8:1 /var/lib/docker/containers/{ID}/{target} /etc/{target} rw,relatime - ext4 /dev/sda1 rw\n"
    )
    root = machine(
        tmp_path, proc__self__cgroup="0::/\n", proc__self__mountinfo="1 2 0:1 / / rw - x x x\n" + mounts
    )
    (tmp_path / ".dockerenv").touch()
    assert container({}, root) == {"runtime": "docker", "id": ID, "image": None}


@pytest.mark.parametrize(
    ("group", "runtime"),
    [
        (f"12:memory:/docker/{ID}", "docker"),
        (f"0::/system.slice/docker-{ID}.scope", "docker"),
        (f"0::/machine.slice/libpod-{ID}.scope", "podman"),
        (f"0::/kubepods.slice/kubepods-burstable.slice/cri-containerd-{ID}.scope", "kubernetes"),
        (f"1:name=systemd:/kubepods/besteffort/pod0/{ID}", "kubernetes"),
    ],
)
def test_control_groups_tell_engine_and_id(group: str, runtime: str, tmp_path: Path) -> None:
    root = machine(tmp_path, proc__self__cgroup=f"{group}\n")
    assert container({}, root) == {"runtime": runtime, "id": ID, "image": None}


def test_lxc_is_known_by_its_control_group(tmp_path: Path) -> None:
    root = machine(tmp_path, proc__self__cgroup="0::/lxc.payload.web/user.slice\n")
    assert container({}, root) == {"runtime": "lxc", "id": None, "image": None}


def test_podman_says_it_all(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        run___containerenv=f'engine="podman-5.0"\nid="{ID}"\nimage="docker.io/library/python:3.12"\nodd\n',
    )
    (tmp_path / "run/_containerenv").rename(tmp_path / "run/.containerenv")
    assert container({}, root) == {"runtime": "podman", "id": ID, "image": "docker.io/library/python:3.12"}


def test_podman_may_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/.containerenv").touch()
    assert container({}, str(tmp_path)) == {"runtime": "podman", "id": None, "image": None}


def test_kubernetes_comes_before_the_engine_below_it(tmp_path: Path) -> None:
    (tmp_path / ".dockerenv").touch()
    found = container({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, str(tmp_path))
    assert found == {"runtime": "kubernetes", "id": None, "image": None}


@pytest.mark.parametrize("name", ["apptainer", "singularity"])
def test_apptainer_names_its_image(name: str, tmp_path: Path) -> None:
    found = container({f"{name.upper()}_CONTAINER": "/images/py\udcff.sif"}, str(tmp_path))
    assert found == {"runtime": name, "id": None, "image": r"/images/py\xff.sif"}


def test_others_tell_their_names_by_the_convention_of_systemd(tmp_path: Path) -> None:
    assert container({"container": "oci"}, str(tmp_path)) == {"runtime": "oci", "id": None, "image": None}
    root = machine(tmp_path, run__systemd__container="systemd-nspawn\n")
    assert container({}, root) == {"runtime": "systemd-nspawn", "id": None, "image": None}


def test_it_can_be_asked_here() -> None:
    found = container({})
    assert found is None or set(found) == {"runtime", "id", "image"}


def test_the_files_of_this_machine_are_read_once_for_all_runs(tmp_path: Path) -> None:
    """A process stays in its container; the variables are those of each run."""
    script = """
import json, sys
from runcard.observe.container import own_container
opened = []
found = own_container({})
sys.addaudithook(lambda event, arguments: opened.append(arguments[0]) if event == "open" else None)
again, other = own_container({}), own_container({"APPTAINER_CONTAINER": "/images/py.sif"})
print(json.dumps([found == again, found is None or found is not again, opened, other["image"]]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [True, True, [], "/images/py.sif"]
