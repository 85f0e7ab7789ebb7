"""Rails conventions: names as classes and as paths, and the enums that models declare."""

import re
from functools import lru_cache

from runcard.errors import RuncardError
from runcard.files import resolve_below
from runcard.plans.ruby.literals import Literals
from runcard.plans.ruby.source_text import read_source
from runcard.plans.ruby.syntax_tree import METHODS, Code, Node, children, descendants, field_of, read_code


@lru_cache(maxsize=4096)
def camelize(name: str) -> str:
    """`order_item` as `OrderItem`, `admin/user` as `Admin::User`; a class name is unchanged."""
    first = re.sub(r"^[a-z\d]+", lambda match: match[0].capitalize(), name)
    rest = re.sub(r"(?:_|(/))([A-Za-z\d]*)", lambda match: (match[1] or "") + match[2].capitalize(), first)
    return rest.replace("/", "::")


def underscore(name: str) -> str:
    """`Admin::OrderItem` as `admin/order_item`."""
    text = re.sub(r"([A-Z\d]+)([A-Z][a-z])", r"\1_\2", name.replace("::", "/"))
    return re.sub(r"([a-z\d])([A-Z])", r"\1_\2", text).lower()


_NOT_VISITED = METHODS | {"call", "lambda", "string", "array", "hash"}
_OPTIONS = {"prefix", "suffix", "scopes", "default", "validate", "instance_methods"}


def model_enums(root: str, class_name: str) -> dict[str, list[str]]:
    """The values of each enum of a model, by attribute; empty if `app/models` has no such model."""
    try:
        path = resolve_below(root, f"app/models/{underscore(class_name)}.rb")
        code, _ = read_code(read_source(path))
    except (RuncardError, OSError):
        return {}
    return _enums(code)


def _enums(code: Code) -> dict[str, list[str]]:
    enums: dict[str, list[str]] = {}
    literals = Literals(code)
    for node in descendants(code.root, _NOT_VISITED):
        if (
            node.type == "assignment"
            and (left := field_of(node, "left"))
            and (right := field_of(node, "right"))
        ):
            literals.remember(code.text_of(left).rpartition("::")[2], right)
        method = field_of(node, "method") if node.type == "call" else None
        if method is not None and code.text_of(method) == "enum":
            enums |= enum_values(children(field_of(node, "arguments")), literals)
    return enums


def enum_values(arguments: list[Node], literals: Literals) -> dict[str, list[str]]:
    """`enum :status, [...]`, `enum :status, draft: 0, paid: 1` and the older `enum status: [...]`."""
    options = {
        key: node for key, node in literals.options(arguments).items() if key.strip("_") not in _OPTIONS
    }
    names = literals.values([argument for argument in arguments if argument.type != "pair"])
    if names and isinstance(names[0], str):
        values = names[1] if len(names) > 1 else list(options)
        return {names[0]: _texts(values)}
    return {key: _texts(literals.value(node)) for key, node in options.items()}


def _texts(values: object) -> list[str]:
    return [str(value) for value in values] if isinstance(values, list | dict) else []
