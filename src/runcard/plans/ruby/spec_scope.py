"""What an example of a spec can name: lets, the subject, hooks, and local variables."""

from collections.abc import Sequence

from runcard.plans.ruby.rails import underscore
from runcard.plans.ruby.ruby_values import RubyValue, value_of
from runcard.plans.ruby.spec_tree import HOOK, LET, PERMISSIONS, SUBJECT, SpecNode
from runcard.plans.ruby.syntax_tree import Code, Node, children, field_of

_MAX_DEPTH = 12
_MAKERS = {"new", "instance", "build", "create", "create!", "allocate"}
_FACTORIES = {"build", "create", "build_stubbed", "attributes_for"}


class SpecScope:
    """What an example can name: the lets and hooks of the groups around it, the outermost first."""

    def __init__(self, code: Code, groups: Sequence[SpecNode], class_name: str) -> None:
        self.code = code
        self._endings = _endings(class_name)
        self._factory = underscore(class_name.rpartition("::")[2])
        self.lets: dict[str, Node] = {}
        self.hooks: list[Node] = []
        named = (group.name.split(", ") for group in groups if group.word == PERMISSIONS)
        self.permissions = frozenset(name for names in named for name in names)
        for group in groups:
            for part in group.children:
                if part.syntax is None:
                    continue
                if part.kind == LET and part.name:
                    self.lets[part.name] = part.syntax
                elif part.kind == SUBJECT:
                    self.lets["subject"] = part.syntax
                    if part.name:
                        self.lets[part.name] = part.syntax
                elif part.kind == HOOK and "before" in part.word:
                    self.hooks.append(part.syntax)

    def is_class(self, node: Node | None, depth: int = 0) -> bool:
        """Whether an expression is the class of the target."""
        value = self.value(node, {}, depth)
        return (
            value is not None
            and value.kind == "constant"
            and (value.data == "described_class" or str(value.data).removeprefix("::") in self._endings)
        )

    def is_instance(self, node: Node | None, depth: int = 0) -> bool:
        """Whether an expression is an instance of the class of the target."""
        if node is None or depth > _MAX_DEPTH:
            return False
        if node.type == "identifier":
            name = self.code.text_of(node)
            if name in self.lets:
                return self.is_instance(only_statement(self.lets[name]), depth + 1)
            return name == "subject"  # implicit: described_class.new
        method, receiver = field_of(node, "method"), field_of(node, "receiver")
        word = self.code.text_of(method) if method is not None else ""
        if receiver is None and word in _FACTORIES:
            first = next(iter(children(field_of(node, "arguments"))), None)
            return first is not None and self.code.text_of(first) == f":{self._factory}"
        return word in _MAKERS and self.is_class(receiver, depth + 1)

    def value(self, node: Node | None, locals_: dict[str, Node], depth: int = 0) -> RubyValue | None:
        """The value of an expression, by lets and local variables."""
        if node is None or depth > _MAX_DEPTH:
            return None
        if node.type == "identifier":
            name = self.code.text_of(node)
            if name in locals_:
                return self.value(locals_[name], {}, depth + 1)
            if name in self.lets:
                return self.value(only_statement(self.lets[name]), {}, depth + 1)
        return value_of(self.code, node)


def only_statement(block: Node | None) -> Node | None:
    """The statement of a block, if it has only one."""
    inner = children(field_of(block, "body")) if block is not None else []
    return inner[0] if len(inner) == 1 else None


def _endings(class_name: str) -> set[str]:
    parts = class_name.removeprefix("::").split("::")
    return {"::".join(parts[at:]) for at in range(len(parts))}
