"""The groups of a spec that belong to a target: that of its class, and those of its method.

A group of the method is `describe '#call'`, `describe '.call'`, `describe 'call'`, `describe :call`, `context '#call'`,
`describe Checkout, '#call'`, `describe 'Checkout#call'`; of an action also `describe 'GET #index'`; of a policy also
`permissions :show?, :edit?`.
"""

import re
from collections.abc import Iterator

from runcard.encoding import JsonObject
from runcard.plans.ruby.inflections import singular
from runcard.plans.ruby.rails import underscore
from runcard.plans.ruby.spec_tree import CONTEXT, DESCRIBE, PERMISSIONS, SpecFile, SpecNode

_REQUEST = re.compile(r"(?:GET|POST|PUT|PATCH|DELETE|HEAD) ", re.IGNORECASE)
_PATH = re.compile(r"(GET|POST|PUT|PATCH|DELETE|HEAD) (/\S*)", re.IGNORECASE)
_METHOD = re.compile(r"(?:^|[ \w])[#.][a-z_]\w*[!?=]?$")  # a group that is named after a method
_CONDITION = re.compile(r"(?:when|with|without|if|unless|and|but|given|while|where)\b", re.IGNORECASE)
_PLAIN_METHOD = re.compile(r"[a-z_]\w*[!?=]?", re.ASCII)
_ONE = re.compile(r"[:{<#\d].*")  # a part of a path that names one object
_ACTIONS = {
    "index": {"GET"},
    "show": {"GET"},
    "new": {"GET"},
    "edit": {"GET"},
    "create": {"POST"},
    "update": {"PUT", "PATCH"},
    "destroy": {"DELETE"},
}
_CONSTANT = re.compile(r"(?:::)?[A-Z]\w*(?:::[A-Z]\w*)*")


def method_groups(spec: SpecFile, target: JsonObject) -> list[SpecNode]:
    """The groups of a method, in the order of the text; those of other classes in the file do not count."""
    found: list[SpecNode] = []
    for part in spec.parts:
        found += _method_groups(part, target)
    return found


def _method_groups(part: SpecNode, target: JsonObject) -> Iterator[SpecNode]:
    if part.kind not in {DESCRIBE, CONTEXT}:
        return
    if is_group_of_method(part.name, target) or (
        part.word == PERMISSIONS and target["method"] in part.name.split(", ")
    ):
        yield part
        return
    if (
        not part.is_text
        and _CONSTANT.fullmatch(part.name)
        and not _is_class(part.name, target["class"])
        and not _is_around(part.name, target)
    ):
        return
    for child in part.children:
        yield from _method_groups(child, target)


def groups_around(spec: SpecFile, node: SpecNode) -> list[SpecNode]:
    """The groups that contain a node, the outermost first."""
    return [
        part
        for part in spec.walk()
        if part.is_group and part is not node and any(each is node for each in part.walk())
    ]


def request_groups(spec: SpecFile, target: JsonObject) -> list[SpecNode]:
    """The groups of requests to an action, by the conventions of Rails: `describe 'GET /orders'`."""
    return [
        part for part in spec.walk() if part.kind in {DESCRIBE, CONTEXT} and _is_request_to(part.name, target)
    ]


def _is_request_to(name: str, target: JsonObject) -> bool:
    match = _PATH.match(name)
    if match is None or not target["class"].endswith("Controller"):
        return False
    action, verb = target["method"], match[1].upper()
    last = re.split(r"[?]", match[2])[0].rstrip("/").rpartition("/")[2]
    last = last if last.startswith(("#", "{", "<")) else re.sub(r"\.\w+$", "", last)
    plural = underscore(target["class"].rpartition("::")[2]).removesuffix("_controller")
    if action not in _ACTIONS:
        return bool(last == action)
    fits = {
        "index": last == plural,
        "create": last in {plural, singular(plural)},
        "new": last == "new",
        "edit": last == "edit",
    }
    is_one = bool(_ONE.fullmatch(last)) or (last == singular(plural) != plural)
    return verb in _ACTIONS[action] and fits.get(action, is_one)


def is_of_method(part: SpecNode) -> bool:
    """Whether a group is named after a method, whichever that is; "when total is above cart.limit" is not."""
    is_named = _METHOD.search(part.name) is not None and not _CONDITION.match(part.name)
    return part.is_group and (part.word == PERMISSIONS or is_named)


def is_of_class(part: SpecNode) -> bool:
    """Whether a group is named after a class: that is no condition, whatever words are in the name."""
    return part.kind == DESCRIBE and not part.is_text and _CONSTANT.fullmatch(part.name) is not None


def is_of_another(part: SpecNode, target: JsonObject) -> bool:
    """Whether a group, in a spec without one for the method, is about another class, method or request."""
    if part.kind != DESCRIBE:
        return False
    if _CONSTANT.fullmatch(part.name):
        return (
            not part.is_text
            and not _is_class(part.name, target["class"])
            and not _is_around(part.name, target)
        )
    return bool(_PLAIN_METHOD.fullmatch(part.name) or _PATH.match(part.name))


def is_group_of_method(name: str, target: JsonObject) -> bool:
    """Whether a group is named after the method of a target."""
    method = target["method"]
    signs = (".", "::") if target["method_type"] == "class" else ("#",)
    first, comma, rest = name.partition(", ")
    if comma and _is_class(first, target["class"]):
        name = rest
    for short in _endings(target["class"]):
        if name.startswith(short) and name[len(short) :].startswith(signs):
            name = name[len(short) :]
    name = _REQUEST.sub("", name)
    name = re.sub(r"\(.*\)$", "", name) if not method.endswith(")") else name
    return name == method or any(
        name == f"{sign}{method}" or name.endswith(f" {sign}{method}") for sign in signs
    )


def class_group(spec: SpecFile, target: JsonObject) -> SpecNode | None:
    """The group of a class; else the only outermost group, if its description is a text."""
    for part in spec.walk():
        if part.kind == DESCRIBE and _is_class(part.name, target["class"]):
            return part
    groups = [part for part in spec.parts if part.kind == DESCRIBE]
    if len(groups) == 1 and (groups[0].is_text or not _CONSTANT.match(groups[0].name)):
        return groups[0]
    return None


def _is_class(name: str, class_name: str) -> bool:
    """Whether a description is a class, perhaps without the modules around it."""
    return name.removeprefix("::") in _endings(class_name)


def _is_around(name: str, target: JsonObject) -> bool:
    """Whether a description is a module around the class."""
    return f"{target['class'].removeprefix('::')}".startswith(f"{name.removeprefix('::')}::")


def _endings(class_name: str) -> list[str]:
    """`A::B::C`, `B::C` and `C`."""
    parts = class_name.removeprefix("::").split("::")
    return ["::".join(parts[at:]) for at in range(len(parts))]
