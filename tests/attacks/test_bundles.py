"""Bundles of strangers that plant files, and documents of strangers that want files packed."""

import gzip
import hashlib
import io
import json
import os
import shutil
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from attacks.archive_parts import MEMORY, file, gzipped, link, member
from attacks.command_server import runcard
from conftest import Cli
from runcard.store.archives import tar
from runcard.store.archives.bundles.manifest import MANIFEST

Member = tuple[tarfile.TarInfo, bytes]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good bundle."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "in.txt").write_text("hello\n")
    run = recorded(folder)
    done = runcard(folder, "export", run, "--to", "bundle", "--output", "b.tar.gz")
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "b.tar.gz"


def recorded(folder: Path, *options: str) -> Path:
    program = 'mkdir "$RUNCARD_RUN_DIR/d"; cat in.txt > "$RUNCARD_RUN_DIR/d/out.txt"'
    done = runcard(folder, "run", "--quiet", "--input", "in.txt", *options, "--", "sh", "-c", program)
    assert done.returncode == 0, done.stderr
    [run] = (path for path in (folder / "outputs").iterdir() if not path.name.startswith("."))
    return run


def members(bundle: Path) -> list[Member]:
    with tarfile.open(bundle) as opened:
        return [(info, opened.extractfile(info).read() if info.isreg() else b"") for info in opened]  # type: ignore[union-attr]


def with_files(bundle: Path, target: Path, more: Iterable[Member]) -> Path:
    """The bundle with more members, all of them in its manifest and in the list of its run, as an attacker would do."""
    old, new = members(bundle), list(more)
    top = old[0][0].name.split("/")[0]
    for info, _ in new:
        info.name = f"{top}/{info.name}"
    places = [info.name.partition("/")[2] for info, _ in new]
    kept = [one for one in old if not one[0].name.endswith("/.runcard-bundle.json")]
    [manifest] = (json.loads(data) for info, data in old if info.name.endswith("/.runcard-bundle.json"))
    for place, (info, data) in zip(places, new, strict=True):
        if info.isreg():
            digest = hashlib.sha256(data).hexdigest()
            manifest["files"].append(
                {"path": place, "place": place, "role": "input", "bytes": len(data), "sha256": digest}
            )
    with tarfile.open(target, "w:gz", format=tarfile.PAX_FORMAT) as made:
        for info, data in [*kept, *new, file(f"{top}/.runcard-bundle.json", json.dumps(manifest).encode())]:
            made.addfile(info, io.BytesIO(data))
    return target


def assert_refused(folder: Path, bundle: Path, *words: str) -> None:
    before = sorted(os.listdir(folder))
    done = runcard(folder, "import-bundle", bundle, "theirs", memory=MEMORY)
    assert done.returncode == 1, done.stdout
    assert done.stderr.startswith("Error: the bundle is refused: ")
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert sorted(os.listdir(folder)) == before


OBEYED = [
    ".git/config",
    ".GIT/hooks/post-checkout",
    "sub/.git/config",
    "sub/.Git",
    ".git\u200c/config",
    ".git /config",
    "GIT~1/config",
    ".envrc",
    "sub/.envrc",
    "runcard.toml",
    "Runcard.TOML",
    "sub/runcard.toml",
    "pyproject.toml",
    ".runcard/ledger-host.jsonl",
    "outputs/.runcard/ledger-host.jsonl",
    ".gitattributes",
    ".gitmodules",
    ".vscode/tasks.json",
    ".idea/workspace.xml",
    ".claude/settings.json",
    ".mcp.json",
    ".npmrc",
    ".env",
    "CLAUDE.md",
    "AGENTS.md",
    "sitecustomize.py",
    "conftest.py",
    "package.json",
    "bunfig.toml",
    "uv.toml",
    "setup.cfg",
]


@pytest.mark.parametrize("name", OBEYED)
def test_a_file_that_tools_obey_is_never_written(bundle: Path, here: Path, cli: Cli, name: str) -> None:
    done = cli("import-bundle", with_files(bundle, here / "b.tar.gz", [file(name)]), "theirs")
    assert done.code == 1, done.out
    assert done.err.startswith("Error: the bundle is refused: ")
    assert "obey" in done.err
    assert os.listdir(here) == ["b.tar.gz"]


def test_inputs_may_have_ordinary_names(tmp_path: Path) -> None:
    names = ["data/package.json", "data/pyproject.toml", "data/.hidden", "git/config", "notes.git.txt"]
    for name in ("in.txt", *names):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("good")
    run = recorded(tmp_path, *(part for name in names for part in ("--input", name)))
    done = runcard(tmp_path, "export", run, "--to", "bundle", "--output", "b.tar.gz")
    assert done.returncode == 0, done.stderr
    done = runcard(tmp_path, "import-bundle", "b.tar.gz", "theirs")
    assert done.returncode == 0, done.stderr
    assert all((tmp_path / "theirs" / name).read_text() == "good" for name in names)


def with_manifest(bundle: Path, target: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """The bundle with another manifest."""
    [manifest] = (json.loads(data) for info, data in members(bundle) if info.name.endswith(MANIFEST))
    change(manifest)
    return rewritten(bundle, target, MANIFEST, json.dumps(manifest).encode())


def assert_named(bundle: Path, problem: str) -> None:
    """`import-bundle` refuses a bundle, and `verify` names the same problem."""
    assert_refused(bundle.parent, bundle, problem)
    code, report = verdict(bundle)
    assert (code, report["intact"]) == (1, False)
    assert problem in [finding["message"] for finding in report["findings"]]


@pytest.mark.parametrize(
    "place", ["data/more.txt", "outputs/amendments.jsonl", "outputs/other/metadata.json"]
)
def test_a_file_that_the_run_does_not_name_is_not_unpacked(bundle: Path, tmp_path: Path, place: str) -> None:
    forged = with_files(bundle, tmp_path / "b.tar.gz", [file(place)])
    assert_named(forged, f"its run does not name {place}")


def test_an_empty_folder_beside_the_run_is_not_unpacked(bundle: Path, tmp_path: Path) -> None:
    folder = tarfile.TarInfo("data/more")
    folder.type = tarfile.DIRTYPE
    forged = with_files(bundle, tmp_path / "b.tar.gz", [(folder, b"")])
    assert_named(forged, "the bundle is refused: data/more is not what its manifest says")


@pytest.mark.parametrize("place", ["inputs-outside/in.txt", "copy.txt"])
def test_an_input_has_the_place_of_its_path(bundle: Path, tmp_path: Path, place: str) -> None:
    """Two files for one input, of which one is right."""
    changed = with_files(bundle, tmp_path / "a.tar.gz", [file(place)])
    forged = with_manifest(changed, tmp_path / "b.tar.gz", lambda it: it["files"][-1].update(path="in.txt"))
    assert_named(forged, f"its run does not name {place}")


def test_another_file_in_the_place_of_an_input_is_not_unpacked(tmp_path: Path) -> None:
    """An input from outside of the project has a place of the sender's choice, but not another content."""
    (tmp_path / "project").mkdir()
    for path in ("project/in.txt", "outside.txt"):
        (tmp_path / path).write_text("good")
    outside = str(tmp_path / "outside.txt")
    run = recorded(tmp_path / "project", "--input", outside)
    to_bundle = ("--to", "bundle", "--output", tmp_path / "good.tar.gz")
    assert runcard(tmp_path / "project", "export", run, "--with", outside, *to_bundle).returncode == 0
    changed = with_files(tmp_path / "good.tar.gz", tmp_path / "a.tar.gz", [file("inputs-outside/more.txt")])
    forged = with_manifest(changed, tmp_path / "b.tar.gz", lambda it: it["files"][-1].update(path=outside))
    assert_named(forged, f"the input {outside} is not what the run read")
    done = runcard(tmp_path, "import-bundle", "good.tar.gz", "good")
    assert (done.returncode, (tmp_path / f"good/inputs-outside{outside}").read_text()) == (2, "good")


@pytest.mark.parametrize("key", ["run_id", "metadata_sha256"])
@pytest.mark.parametrize("stated", ["run-00000000000000000000000000", None])
def test_a_manifest_names_its_own_run(bundle: Path, tmp_path: Path, key: str, stated: str | None) -> None:
    forged = with_manifest(bundle, tmp_path / "b.tar.gz", lambda manifest: manifest.update({key: stated}))
    assert_named(forged, "its run is not the one that its manifest names")


def test_an_input_that_changed_is_not_packed_as_a_program(tmp_path: Path) -> None:
    """`import-bundle` would refuse it."""
    (tmp_path / "in.txt").write_text("good")
    assert runcard(tmp_path, "run", "--quiet", "--input", "in.txt", "--", "cat", "in.txt").returncode == 0
    [run] = (path for path in (tmp_path / "outputs").iterdir() if not path.name.startswith("."))
    (tmp_path / "in.txt").write_text("changed")
    done = runcard(tmp_path, "export", run, "--to", "bundle", "--output", "b.tar.gz")
    assert (
        done.returncode,
        "in.txt" in " ".join(info.name for info, _ in members(tmp_path / "b.tar.gz")),
    ) == (2, False)
    assert runcard(tmp_path, "import-bundle", "b.tar.gz", "theirs").returncode == 2


def test_the_default_folder_has_no_name_that_tools_obey(bundle: Path, tmp_path: Path) -> None:
    """A run called `.vscode` would put its files into a folder of this name in the current directory."""
    old = members(bundle)
    [name] = {info.name.split("/")[2] for info, _ in old if "/outputs/" in info.name}
    with tarfile.open(tmp_path / "b.tar.gz", "w:gz") as made:
        for info, data in old:
            info.name = info.name.replace(f"/outputs/{name}", "/outputs/.vscode")
            new = data.replace(f"outputs/{name}".encode(), b"outputs/.vscode")
            changed = new if info.name.endswith("/.runcard-bundle.json") else data
            info.size = len(changed)
            made.addfile(info, io.BytesIO(changed))
    done = runcard(tmp_path, "import-bundle", "b.tar.gz")
    assert done.returncode == 64
    assert os.listdir(tmp_path) == ["b.tar.gz"]


LINKS: dict[str, Callable[[str], list[tarfile.TarInfo]]] = {
    "through another link": lambda run: [link(f"{run}/a", "b"), link(f"{run}/b", "../../..")],
    "through a link to the folder itself": lambda run: [link(f"{run}/e", "."), link(f"{run}/x", "e/e/../..")],
    "through a link to a folder below": lambda run: [
        link(f"{run}/e", "d/d2"),
        link(f"{run}/x", "e/../../.."),
    ],
    "upwards after a link": lambda run: [link(f"{run}/d/up", ".."), link(f"{run}/x", "d/up/..")],
    "through a name in other case": lambda run: [link(f"{run}/E", "."), link(f"{run}/x", "e/..")],
    "absolute": lambda run: [link(f"{run}/x", "/etc/passwd")],
    "in a circle": lambda run: [link(f"{run}/x", "y"), link(f"{run}/y", "x")],
    "a file below a link": lambda run: [link(f"{run}/d/l", "../.."), member(f"{run}/d/l/evil")],
    "a link where a folder is": lambda run: [member(f"{run}/l/evil"), link(f"{run}/l", "../..")],
    "beside the run": lambda _: [link("x", "in.txt")],
}


@pytest.mark.parametrize("what", LINKS)
def test_a_link_is_judged_by_where_it_leads(bundle: Path, tmp_path: Path, what: str) -> None:
    [run] = {
        info.name.partition("/")[2].rpartition("/d/")[0]
        for info, _ in members(bundle)
        if info.name.endswith("/d/out.txt")
    }
    more = [(info, b"") for info in LINKS[what](run)]
    assert_refused(tmp_path, with_files(bundle, tmp_path / "b.tar.gz", more))


def empty_file(path: bytes) -> bytes:
    return tar.header(tar.TarMember(tar.FILE, path, 0, 0o644, 0, b""))


@pytest.mark.long
def test_a_bundle_of_very_many_members_is_refused_before_they_are_counted(tmp_path: Path) -> None:
    with open(tmp_path / "b.tar.gz", "wb") as target:
        for start in range(0, 900_000, 10_000):
            numbers = range(start, start + 10_000)
            target.write(gzipped(b"".join(empty_file(b"top/in/%d" % number) for number in numbers)))
    assert_refused(tmp_path, tmp_path / "b.tar.gz", "100,000", "--max-files")


def test_the_user_may_allow_more_members(bundle: Path, tmp_path: Path) -> None:
    too_few = runcard(tmp_path, "import-bundle", bundle, "theirs", "--max-files", "3")
    assert too_few.returncode == 1
    assert runcard(tmp_path, "import-bundle", bundle, "theirs", "--max-files", "50").returncode == 0


# Exporting a run whose document is a stranger's


def test_a_document_cannot_have_files_packed_that_it_does_not_know(tmp_path: Path) -> None:
    """The stranger made the run where files of the same names lay; now it lies on the victim's machine."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "linked").symlink_to(tmp_path / "shadow")
    for name in ("in.txt", "same.txt", "gone.txt", ".env", "../shadow", "../passwd"):
        (project / name).write_text("hello\n")
    names = ("same.txt", "gone.txt", "linked", ".env", str(tmp_path / "shadow"), str(tmp_path / "passwd"))
    options = [part for name in ("in.txt", *names) for part in ("--input", name)]
    command = ("sh", "-c", "true", "mine.sh")
    assert runcard(project, "run", "--quiet", *options, "--", *command).returncode == 0
    [run] = (path for path in (project / "outputs").iterdir() if not path.name.startswith("."))
    (project / "got").mkdir()
    shutil.move(run, project / "got" / run.name)
    (project / "gone.txt").unlink()
    for name in ("in.txt", "mine.sh", "../passwd"):
        (project / name).write_text("my secret")

    done = runcard(project, "export", f"got/{run.name}", "--to", "bundle", "--output", "b.tar.gz")
    assert (done.returncode, done.stdout) == (2, "b.tar.gz\n"), done.stderr
    left_out = [line.split()[3] for line in done.stderr.splitlines()]
    assert sorted(left_out) == sorted({*names, "in.txt", "mine.sh"} - {"same.txt"})
    packed = [info.name.partition("/")[2] for info, _ in members(project / "b.tar.gz")]
    assert [name for name in packed if not name.startswith("outputs/")] == [
        "same.txt",
        ".runcard-bundle.json",
    ]
    assert b"secret" not in b"".join(data for _, data in members(project / "b.tar.gz"))


def test_a_fifo_among_the_inputs_does_not_stop_the_export(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("hello\n")
    run = recorded(tmp_path)
    (tmp_path / "in.txt").unlink()
    os.mkfifo(tmp_path / "in.txt")
    done = runcard(tmp_path, "export", run, "--to", "bundle", "--output", "b.tar.gz")
    assert done.returncode == 2
    assert "FIFO" in done.stderr


@pytest.mark.parametrize("what", ["a link that leads out", "a repository"])
def test_a_run_that_nobody_could_import_is_not_exported(tmp_path: Path, what: str) -> None:
    (tmp_path / "in.txt").write_text("hello\n")
    program = {
        "a link that leads out": 'cd "$RUNCARD_RUN_DIR"; ln -s . e; ln -s e/../.. x',
        "a repository": 'mkdir -p "$RUNCARD_RUN_DIR/r/.git"; touch "$RUNCARD_RUN_DIR/r/.git/config"',
    }[what]
    done = runcard(tmp_path, "run", "--quiet", "--", "sh", "-c", program)
    assert done.returncode == 0, done.stderr
    [run] = (path for path in (tmp_path / "outputs").iterdir() if not path.name.startswith("."))
    exported = runcard(tmp_path, "export", run, "--to", "bundle", "--output", "b.tar.gz")
    assert exported.returncode == 1
    assert "a bundle cannot have it" in exported.stderr
    assert not list(tmp_path.glob("*.tar.gz"))


def verdict(bundle: Path, *options: str | Path) -> tuple[int, dict[str, Any]]:
    done = runcard(bundle.parent, "verify", "--json", *options, bundle)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


def rewritten(bundle: Path, target: Path, name: str, data: bytes) -> Path:
    """The bundle with other bytes in one of its files."""
    with tarfile.open(target, "w:gz") as opened:
        for info, old in members(bundle):
            new = data if info.name.endswith(name) else old
            info.size = len(new)
            opened.addfile(info, io.BytesIO(new) if info.isreg() else None)
    return target


def test_a_bundle_is_verified_as_it_is(bundle: Path) -> None:
    code, report = verdict(bundle)
    assert (code, report["intact"], report["complete"]) == (0, True, True)
    (record,) = report["records"]
    assert (record["kind"], record["path"]) == ("run", str(bundle))


@pytest.mark.parametrize(
    "name", ["d/out.txt", "in.txt", "/metadata.json", "/.runcard-bundle.json", "SHA256SUMS"]
)
def test_a_bundle_in_which_something_was_changed(bundle: Path, tmp_path: Path, name: str) -> None:
    code, report = verdict(rewritten(bundle, tmp_path / "c.tar.gz", name, b"{}"))
    assert (code, bool(report["findings"])) == (1, True)


def test_a_bundle_takes_its_signature_along(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("hello\n")
    run = recorded(tmp_path)
    made = runcard(tmp_path, "keygen", "--output", "alice", "--name", "alice")
    (tmp_path / "signers").write_text(made.stdout)
    assert runcard(tmp_path, "sign", run, "--key", "alice").returncode == 0
    assert runcard(tmp_path, "export", run, "--to", "bundle", "--output", "b.tar.gz").returncode == 0
    code, report = verdict(tmp_path / "b.tar.gz", "--signers", tmp_path / "signers")
    assert (code, report["signed"]) == (0, True)


def test_a_folder_is_verified_with_the_bundles_and_archives_in_it(bundle: Path, tmp_path: Path) -> None:
    """Somebody who verifies all that was sent must not overlook a forged file."""
    sent = tmp_path / "sent"
    (sent / "sub").mkdir(parents=True)
    shutil.copy(bundle, sent / "sub" / "good.tar.gz")
    code, report = verdict(sent)
    assert (code, [each["path"] for each in report["records"]]) == (0, [str(sent / "sub" / "good.tar.gz")])
    rewritten(bundle, sent / "forged.tar.gz", "d/out.txt", b"better")
    code, report = verdict(sent)
    assert (code, report["tally"]["good"], len(report["records"])) == (1, 1, 2)
    (sent / "forged.tar.gz").unlink()
    (sent / "data.tar.gz").write_bytes(b"no archive at all")
    code, report = verdict(sent)
    assert (code, [each["kind"] for each in report["findings"]]) == (0, ["limits"])
    assert "it was not verified" in report["findings"][0]["message"]


def test_an_archive_that_was_sent_alone_is_verified_with_its_folder(tmp_path: Path) -> None:
    assert runcard(tmp_path, "archive", recorded_in(tmp_path)).returncode == 0
    (packed,) = (tmp_path / "outputs" / "archive").glob("2*/*.tar.gz")
    sent = tmp_path / "sent"
    sent.mkdir()
    shutil.copy(packed, sent)
    code, report = verdict(sent)
    assert (code, [each["path"] for each in report["records"]]) == (0, [str(sent / packed.name)])


def test_a_bundle_beside_the_archives_of_a_store_is_no_damaged_archive(bundle: Path, tmp_path: Path) -> None:
    run = recorded_in(tmp_path)
    assert runcard(tmp_path, "archive", run).returncode == 0
    (folder,) = (run.parent / "archive").glob("2*")
    shutil.copy(bundle, folder / "bundle.tar.gz")
    code, report = verdict(run.parent)
    assert (code == 1, report["intact"], report["complete"]) == (False, True, True)


def recorded_in(folder: Path) -> Path:
    (folder / "in.txt").write_text("hello\n")
    return recorded(folder)


def _pax_bomb() -> bytes:
    """A record before the first header that claims, and has, a gigabyte."""
    info = tarfile.TarInfo("././@PaxHeader")
    info.type, info.size = tarfile.XHDTYPE, 1 << 30
    return info.tobuf(tarfile.USTAR_FORMAT) + bytes(1 << 30)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["damaged", "bomb", "enormous header"])
def test_what_is_called_an_archive_does_not_stop_the_others(bundle: Path, tmp_path: Path, kind: str) -> None:
    sent = tmp_path / "sent"
    sent.mkdir()
    shutil.copy(bundle, sent / "z.tar.gz")
    data = {
        "damaged": lambda: bundle.read_bytes()[:20] + bytes(range(256)) * 20,
        "bomb": lambda: gzip.compress(b"a" * (1 << 30), 1),
        "enormous header": lambda: gzip.compress(_pax_bomb(), 1),
    }[kind]()
    (sent / "a.tar.gz").write_bytes(data)
    done = runcard(sent, "verify", "--json", sent, memory=MEMORY)
    assert "Traceback" not in done.stderr, done.stderr
    report = json.loads(done.stdout)
    assert str(sent / "z.tar.gz") in [each["path"] for each in report["records"]]
    assert report["findings"] or len(report["records"]) == 2
