"""A symbolic link as documents list it."""

from runcard.checksums import Symlink
from runcard.encoding import JsonObject
from runcard.files import json_name


def symlink_entry(link: Symlink) -> JsonObject:
    """Path and target, and their bytes in base64 if they are not UTF-8."""
    path, target = json_name(link.path), json_name(link.target)
    entry: JsonObject = {"path": path.text, "target": target.text}
    if path.base64 is not None:
        entry["path_base64"] = path.base64
    if target.base64 is not None:
        entry["target_base64"] = target.base64
    return entry
