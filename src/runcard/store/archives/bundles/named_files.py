"""The files beside the run of a bundle, compared with the document of the run.

Whoever sends a bundle writes its manifest. So a file is unpacked only if the run names it, as an input or in its command, and only
at the place that follows from this name.
"""

import os
from collections.abc import Iterator

from runcard.digests import sha256_bytes
from runcard.documents.run.fields import RunFields
from runcard.documents.run.inputs import input_entries, input_path
from runcard.encoding import JsonObject
from runcard.files import check_relative, json_name, printable
from runcard.store.archives.bundles.manifest import OUTSIDE, bundled_proof


def command_paths(document: JsonObject) -> list[str]:
    """The arguments of a run's command that can be files below its working directory, as paths."""
    arguments = dict.fromkeys(RunFields(document).command or ())
    paths = (os.path.normpath(argument) for argument in arguments if argument and "\0" not in argument)
    return [path for path in paths if check_relative(path) is None]


def manifest_problems(manifest: JsonObject, metadata: bytes, document: JsonObject) -> Iterator[str]:
    """Where a manifest does not agree with the document of its run, and its bytes."""
    stated = manifest.get("metadata_sha256"), manifest.get("run_id")
    if stated != (sha256_bytes(metadata).hex, RunFields(document).run_id):
        yield "its run is not the one that its manifest names"
    inputs = _input_digests(document)
    arguments = {json_name(path).text for path in command_paths(document)}
    for file in manifest["files"]:
        path, place = file["path"], file["place"]
        if path == place == bundled_proof(manifest["run"]):
            continue
        if not _is_place_of(path, place) or (path not in inputs and path not in arguments):
            yield f"its run does not name {printable(place)}"
        elif path in inputs and not inputs[path] & {None, file["sha256"]}:
            yield f"the input {printable(path)} is not what the run read"


def _input_digests(document: JsonObject) -> dict[str, set[str | None]]:
    """The recorded digests of each input, None for one without."""
    digests: dict[str, set[str | None]] = {}
    for entry in input_entries(document):
        digests.setdefault(json_name(input_path(entry)).text, set()).add(entry.get("sha256"))
    return digests


def _is_place_of(path: str, place: str) -> bool:
    return place == path if check_relative(path) is None else place.startswith(f"{OUTSIDE}/")
