"""What a bundle says about itself."""

from runcard.encoding import JsonObject, decode_json
from runcard.errors import DocumentError, EncodingError
from runcard.files import check_relative

MANIFEST = ".runcard-bundle.json"
OUTPUTS = "outputs"  # where the run lies in a bundle
OUTSIDE = "inputs-outside"  # where inputs lie that the run read from elsewhere than below its directory
VERSION = "1.0"


_TEXTS = ("path", "place", "role", "sha256")


def read_manifest(data: bytes) -> JsonObject:
    """A manifest; raises DocumentError for what is none, or one of a later major version."""
    unknown = refused(f"its {MANIFEST} is none that this runcard knows", hint="a newer runcard may know it")
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


def refused(message: str, *, hint: str = "get it again from whoever made it") -> DocumentError:
    return DocumentError(f"the bundle is refused: {message}", hint=hint)
