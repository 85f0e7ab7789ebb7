"""The names of plan files.

The documented name is made of the source's path: `app/models/user.rb` has `metadata_app_models_user.yml`. Where that
name is another source's, or is too long, 8 hex digits of the digest of the path are added; for a further method of the
same source, 8 hex digits of the digest of class, type and method.
"""

from runcard.digests import sha256_bytes
from runcard.files import encode_name

_PREFIX, _ENDING = "metadata_", ".yml"
_LONGEST = 255  # bytes of a file's name
_DIGITS = 8


def is_plan_name(name: str) -> bool:
    """Whether a file in a folder of plans is called like a plan."""
    return name.startswith(_PREFIX) and name.endswith(_ENDING)


def documented_name(file: str) -> str:
    """The name of the plan of a source, by its path in the project; not always one that a file can have."""
    return f"{_PREFIX}{file.removesuffix('.rb').replace('/', '_')}{_ENDING}"


def fits(name: str) -> bool:
    return len(encode_name(name)) <= _LONGEST


def digits(what: str) -> str:
    """The digits that tell what has the same name otherwise."""
    return sha256_bytes(encode_name(what)).hex[:_DIGITS]


def distinguished(name: str, what: str) -> str:
    """A name with the digest of what tells its plan from others; as much of the name as fits."""
    mark = f"-{digits(what)}{_ENDING}"
    stem = name.removesuffix(_ENDING)
    while not fits(stem + mark):
        stem = stem[:-1]
    return stem + mark


def report_name(name: str) -> str:
    """The name of the report about a plan, which lies beside it."""
    stem, ending = name.rpartition(".")[0], ".review.md"
    while not fits(stem + ending):
        stem = stem[:-1]
    return stem + ending


def method_key(class_name: str, method_type: str, method: str) -> str:
    """What the digest in the name of a further method's plan is made of."""
    return f"{class_name}\n{method_type}\n{method}"
