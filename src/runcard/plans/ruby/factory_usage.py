"""The factories that specs use: symbols in a file, and calls of `create` and `build_stubbed`."""

import re
from dataclasses import dataclass

from runcard.plans.ruby.source_text import read_source
from runcard.plans.ruby.syntax_tree import Code, Node, children, descendants, field_of, line_of, read_code

_SYMBOL = re.compile(r"(?<!:):[\"']?([A-Za-z_]\w*)|\b([A-Za-z_]\w*):(?!:)|%[iIwW][\[({<]([^\])}>]*)")
_STRATEGY = re.compile(r"(create|build_stubbed)(?:_list|_pair)?")


@dataclass(frozen=True, slots=True)
class FactoryCall:
    """A call in a spec that gets an object from a factory."""

    line: int
    strategy: str  # `create` or `build_stubbed`
    factory: str


def symbols(path: str) -> set[str]:
    """All symbols in a file, including those in lists and keys."""
    names: set[str] = set()
    for name, key, list_items in _SYMBOL.findall(read_source(path).text.decode("utf-8", "replace")):
        names |= {name, key, *list_items.split()}
    return names


def factory_calls(path: str) -> list[FactoryCall]:
    """The calls of `create` and `build_stubbed` in a spec, in the order of the text."""
    code, _ = read_code(read_source(path))
    calls = (_factory_call(code, node) for node in descendants(code.root) if node.type == "call")
    return [call for call in calls if call]


def _factory_call(code: Code, node: Node) -> FactoryCall | None:
    method, receiver = field_of(node, "method"), field_of(node, "receiver")
    match = _STRATEGY.fullmatch(code.text_of(method)) if method is not None else None
    arguments = children(field_of(node, "arguments"))
    is_factory_bot = receiver is None or code.text_of(receiver) in {"FactoryBot", "FactoryGirl"}
    if match is None or not is_factory_bot or not arguments or arguments[0].type != "simple_symbol":
        return None
    return FactoryCall(line_of(node), match[1], code.text_of(arguments[0])[1:])
