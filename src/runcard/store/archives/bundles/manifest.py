"""The manifest of a bundle."""

from runcard.encoding import JsonObject, decode_json
from runcard.errors import DocumentError, EncodingError
from runcard.files import check_relative
from runcard.store import layout

MANIFEST = ".runcard-bundle.json"
OUTPUTS = "outputs"  # the folder of the run in a bundle
OUTSIDE = "inputs-outside"  # the folder of inputs that were not below the run's working directory
VERSION = "1.0"
PROOF_ROLE = "proof"


_TEXTS = ("path", "place", "role", "sha256")


def bundled_proof(run: str) -> str:
    """The path of the proof that a run is in an anchor, beside the run."""
    return f"{run}{layout.PROOF}"


def read_manifest(data: bytes) -> JsonObject:
    """A manifest; raises DocumentError if it is not valid, or of a later major version."""
    unknown = refused(
        f"this runcard does not know the format of its {MANIFEST}", hint="a newer runcard may know it"
    )
    try:
        manifest: JsonObject = decode_json(data)
        if not _is_known(manifest):
            raise unknown
    except (EncodingError, KeyError, TypeError, AttributeError) as error:
        raise unknown from error
    return manifest


def _is_known(manifest: JsonObject) -> bool:
    run, files = manifest["run"], manifest["files"]
    return (
        str(manifest["bundle_version"]).startswith("1.")
        and check_relative(run) is None
        and run.startswith(f"{OUTPUTS}/")
        and run.count("/") == 1
        and all(isinstance(file[key], str) for file in files for key in _TEXTS)
    )


def refused(message: str, *, hint: str = "get it again from its author") -> DocumentError:
    return DocumentError(f"the bundle is refused: {message}", hint=hint)
