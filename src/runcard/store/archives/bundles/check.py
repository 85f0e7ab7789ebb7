"""Checking a bundle, which may be hostile, before any of it is written.

It is read as an archive is. Then its names, its links, its manifest and its run are checked; `unpack` of the archives writes
only what was checked here.
"""

from collections.abc import Iterator

from runcard.encoding import JsonObject
from runcard.errors import DocumentError
from runcard.files import FileKind, json_name, printable
from runcard.store import layout
from runcard.store.archives.bundles.forbidden_names import is_tool_file
from runcard.store.archives.bundles.manifest import MANIFEST, OUTPUTS, read_manifest, refused
from runcard.store.archives.escaping_links import escaping_link
from runcard.store.archives.limits import TooMuchError
from runcard.store.archives.scan import ArchiveContents, NoArchiveError, kind_of_entry, scan


def read_bundle(path: str, *, max_size: int, max_files: int) -> tuple[ArchiveContents, JsonObject]:
    """The contents of a bundle, and its manifest; raises DocumentError for one that must not be opened."""
    try:
        contents = scan(path, max_size=max_size, max_members=max_files, is_kept=_is_kept)
    except TooMuchError as error:
        raise refused(f"it holds {error.what}", hint="--max-size and --max-files allow more") from error
    except NoArchiveError as error:
        raise refused(error.message) from error
    for finding in contents.problems:
        raise refused(f"{printable(finding.path)}: {finding.message}")
    manifest = read_manifest(_manifest_data(contents))
    for problem in _problems(contents, manifest):
        raise problem
    return contents, manifest


def _is_kept(path: str) -> bool:
    """Whether a file is needed to check the bundle: its manifest, the documents of its run, and the proof beside that."""
    top, _, rest = path.partition("/")
    is_proof = "/" not in rest and rest.endswith(layout.PROOF)
    return path == MANIFEST or (top == OUTPUTS and (is_proof or layout.is_document(rest.partition("/")[2])))


def _manifest_data(contents: ArchiveContents) -> bytes:
    data = contents.read(MANIFEST)
    if data is None:
        raise refused(f"it has no {MANIFEST}", hint="how to make a bundle: runcard export --help")
    return data


def _problems(contents: ArchiveContents, manifest: JsonObject) -> Iterator[DocumentError]:
    for path, _ in contents.entries:
        if path != MANIFEST and is_tool_file(path):
            yield refused(
                f"{printable(path)} is a file or folder that other programs obey, such as git or an editor",
                hint="ask its author to rename it; `tar xzf` unpacks it without any check",
            )
    run = manifest["run"]
    for link in contents.symlinks:
        if not link.path.startswith(f"{run}/"):
            yield refused(f"the link {printable(link.path)} is outside of the run")
    if (escaping := escaping_link(contents.symlinks, run)) is not None:
        yield refused(f"the link {printable(escaping.path)} leads out of the run, or nowhere")
    yield from _differences(contents, manifest)


def _differences(contents: ArchiveContents, manifest: JsonObject) -> Iterator[DocumentError]:
    """Every file and folder beside the run is what the manifest says, and none is missing or unexpected."""
    listing = {file["place"]: file["sha256"] for file in manifest["files"]}
    run = manifest["run"] + "/"
    digests = {
        json_name(path).text: entry
        for path, entry in contents.entries
        if kind_of_entry(entry) is FileKind.FILE
    }
    for path, digest in digests.items():
        if path != MANIFEST and not path.startswith(run) and listing.get(path) != digest:
            yield refused(f"{printable(path)} is not what its manifest says")
    folders = {folder for path in (run, *listing) for folder in _folders_above(path)}
    for path, entry in contents.entries:
        is_folder = kind_of_entry(entry) is FileKind.DIRECTORY and not path.startswith(run)
        if is_folder and json_name(path).text not in folders:
            yield refused(f"{printable(path)} is not what its manifest says")
    for path in sorted(listing.keys() - digests.keys()):
        yield refused(f"{printable(path)} is missing")


def _folders_above(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path
