"""What specs use of factories: the names that stand in them as symbols, and how they get their objects."""

import re
from dataclasses import dataclass

from runcard.plans.ruby.source_text import read_source
from runcard.plans.ruby.syntax_tree import Code, Node, field_of, line_of, parts, read_code

_SYMBOL = re.compile(r"(?<!:):[\"']?([A-Za-z_]\w*)|\b([A-Za-z_]\w*):(?!:)|%[iIwW][\[({<]([^\])}>]*)")
_STRATEGY = re.compile(r"(create|build_stubbed)(?:_list|_pair)?")


@dataclass(frozen=True, slots=True)
class FactoryCall:
    """A place where a spec gets an object from a factory."""

    line: int
    strategy: str  # `create` or `build_stubbed`
    factory: str


def symbols(path: str) -> set[str]:
    """The names that stand as symbols in a file, those in lists and of keys included."""
    found: set[str] = set()
    for name, key, listed in _SYMBOL.findall(read_source(path).text.decode("utf-8", "replace")):
        found |= {name, key, *listed.split()}
    return found


def factory_calls(path: str) -> list[FactoryCall]:
    """Where a spec creates or stubs objects by factories, in the order of the text."""
    code, _ = read_code(read_source(path))
    found: list[FactoryCall] = []
    waiting = [code.root]
    while waiting:
        node = waiting.pop()
        if node.type == "call" and (one := _built(code, node)):
            found.append(one)
        waiting += reversed(node.named_children)
    return found


def _built(code: Code, node: Node) -> FactoryCall | None:
    method, receiver = field_of(node, "method"), field_of(node, "receiver")
    match = _STRATEGY.fullmatch(code.of(method)) if method is not None else None
    given = parts(field_of(node, "arguments"))
    is_ours = receiver is None or code.of(receiver) in {"FactoryBot", "FactoryGirl"}
    if match is None or not is_ours or not given or given[0].type != "simple_symbol":
        return None
    return FactoryCall(line_of(node), match[1], code.of(given[0])[1:])
