"""Reads the declarations of `config/routes.rb` from its syntax tree: `resources`, `scope`, `get` and the like."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from runcard.plans.ruby.devise_routes import devise_routes
from runcard.plans.ruby.inflections import Inflections
from runcard.plans.ruby.literals import LOOPS, NO_NAMES, Literals, Names, Value
from runcard.plans.ruby.route_scopes import (
    RESOURCE,
    RESOURCES,
    ROOT,
    RouteScope,
    merged_path,
    resource_of,
)
from runcard.plans.ruby.syntax_tree import METHODS, Code, Node, children, field_of

_MAX_DEPTH = 100  # blocks in blocks
_VERBS = {"get", "post", "put", "patch", "delete", "match"}
_WITHOUT_EFFECT = {
    "constraints",
    "defaults",
    "authenticate",
    "authenticated",
    "unauthenticated",
    "devise_scope",
}
_RESOURCE_OPTIONS = {"as", "controller", "path", "only", "except", "param", "concerns"}
_NO_MATTER = {
    "constraints",
    "defaults",
    "format",
    "failure_app",
    "skip_helpers",
}  # for the routes of `devise_for`
_DECISIVE = {"as", "path", "controller", "action", "module", "param", "on", "via", "shallow", "path_names"}
_DECISIVE |= {"shallow_path", "shallow_prefix"}
_CONDITIONALS = {"if", "unless", "if_modifier", "unless_modifier", "case", "elsif", "else", "when", "then"}
_SYMBOLS = {"simple_symbol", "delimited_symbol", "bare_symbol", "hash_key_symbol"}
_DRAWN = re.compile(r"(?:::)?(?:Rails\.application|(?!.*\bEngine\b)[\w:]+::Application)\.routes")
_SHORT = re.compile(r"/?[-\w]+/[-\w/]+", re.ASCII)  # `get 'photos/list'`
_CONTROLLER = re.compile(r"[a-z_0-9][a-z_0-9/]*")
_UNKNOWN = object()  # an option whose value is computed

Options = dict[str, object]


class RubySymbol(str):
    """A symbol: Rails takes `get :list` for an action and `get 'list'` for a path."""

    __slots__ = ()


class DrawnRoute(NamedTuple):
    """A route as Rails draws it."""

    verb: str
    path: str
    name: str  # empty: it has no helper
    controller: str
    action: str
    is_conditional: bool  # whether it may be left out


class RouteLiterals(Literals):
    """Literal values that tell symbols from strings."""

    def value(self, node: Node | None, names: Names = NO_NAMES, depth: int = 0) -> Value:
        found = super().value(node, names, depth)
        return (
            RubySymbol(found)
            if isinstance(found, str) and node is not None and node.type in _SYMBOLS
            else found
        )


@dataclass(frozen=True, slots=True)
class _RouteBlock:
    """What holds where a declaration stands."""

    scope: RouteScope
    names: Names
    given: Mapping[str, object]  # by `with_options`
    receiver: str = ""  # the variable of `with_options`
    depth: int = 0
    is_conditional: bool = False


class _Declaration(NamedTuple):
    """A declaration."""

    word: str
    values: list[Value]
    options: Options
    block: Node | None


class RouteReader:
    """Draws routes, in the order of the text."""

    def __init__(
        self, code: Code, file: Callable[[str], Code | None], inflections: Inflections, *, is_api: bool
    ) -> None:
        self._code, self._literals = code, RouteLiterals(code)
        self._file, self._inflections, self._is_api = file, inflections, is_api
        self._concerns: dict[str, tuple[Code, RouteLiterals, Node]] = {}
        self._named: set[str] = set()
        self.routes: list[DrawnRoute] = []

    def read(self) -> None:
        self._visit_all(self._code.root, _RouteBlock(RouteScope(), NO_NAMES, {}))

    def _in_file(self, code: Code, literals: RouteLiterals, node: Node, at: _RouteBlock) -> None:
        before = self._code, self._literals
        self._code, self._literals = code, literals
        self._visit_all(node, at)
        self._code, self._literals = before

    # The tree

    def _visit_all(self, node: Node | None, at: _RouteBlock) -> None:
        if at.depth < _MAX_DEPTH:
            at = replace(at, depth=at.depth + 1)
            for child in children(node):
                self._visit(child, at)

    def _visit(self, node: Node, at: _RouteBlock) -> None:
        if node.type in METHODS | {"class", "module", "singleton_class"}:
            return
        if node.type in _CONDITIONALS:
            self._alternatives(node, at)
        elif node.type == "assignment":
            left, right = field_of(node, "left"), field_of(node, "right")
            if left is not None and right is not None:
                self._literals.remember(self._code.text_of(left).rpartition("::")[2], right)
        elif node.type == "call":
            self._visit_call(node, at)
        elif node.type == "for":
            for names in self._literals.iterations(node, at.names):
                self._visit_all(field_of(node, "body"), replace(at, names=names))
        else:
            self._visit_all(node, at)

    def _alternatives(self, node: Node, at: _RouteBlock) -> None:
        """The branches of a condition: a name that one of them gives is free in the others."""
        at = replace(at, is_conditional=True, depth=at.depth + 1)
        before, after = self._named, set(self._named)
        for child in children(node) if at.depth < _MAX_DEPTH else []:
            self._named = set(before)
            self._visit(child, at)
            after |= self._named
        self._named = after

    def _visit_call(self, node: Node, at: _RouteBlock) -> None:
        method, receiver, block = (field_of(node, name) for name in ("method", "receiver", "block"))
        word = self._code.text_of(method) if method else ""
        if receiver is not None and self._code.text_of(receiver) != at.receiver:
            if word in LOOPS:
                for names in self._literals.iterations(node, at.names):
                    self._visit_all(block, replace(at, names=names))
            elif _DRAWN.fullmatch(self._code.text_of(receiver)) and word in {"draw", "append", "prepend"}:
                self._visit_all(block, at)
            return
        declaration = self._DECLARATIONS.get(word)
        if declaration is None:
            return
        call = self._call(word, node, block, at)
        if call is not None:
            declaration(self, call, at)

    def _call(self, word: str, node: Node, block: Node | None, at: _RouteBlock) -> _Declaration | None:
        """A declaration with its options; None if one of them is computed."""
        is_given = not at.receiver or field_of(node, "receiver") is not None
        options: Options | None = dict(at.given) if is_given else {}
        values: list[Value] = []
        for argument in children(field_of(node, "arguments")):
            if argument.type == "pair":
                options = self._merged(options, self._pair(argument, at))
            elif argument.type == "hash_splat_argument":
                options = self._merged(options, self._splat(argument, at))
            elif argument.type == "hash":
                pairs = [self._pair(pair, at) for pair in children(argument)]
                for pair in pairs:
                    options = self._merged(options, pair)
            elif argument.type != "block_argument":
                values += self._literals.values([argument], at.names)
        if values and isinstance(values[-1], dict):
            options = self._merged(options, values.pop())
        if options is None or any(options.get(name) is _UNKNOWN for name in _DECISIVE):
            return None
        return _Declaration(word, values, options, block)

    @staticmethod
    def _merged(options: Options | None, more: Mapping[str, object] | None) -> Options | None:
        return None if options is None or more is None else options | dict(more)

    def _pair(self, pair: Node, at: _RouteBlock) -> Options | None:
        key, value = field_of(pair, "key"), field_of(pair, "value")
        name = self._literals.value(key, at.names) if pair.type == "pair" else None
        if not isinstance(name, str) or key is None or value is None:
            return None
        if value.type == "nil":
            return {name: False}
        known = self._literals.value(value, at.names)
        if known is None or (isinstance(known, list) and None in known):
            known = _UNKNOWN
        return {name: known}

    def _splat(self, node: Node, at: _RouteBlock) -> Options | None:
        inner = children(node)
        value = self._literals.value(inner[0], at.names) if len(inner) == 1 else None
        return value if isinstance(value, dict) else None

    # Declarations

    def _scope(self, call: _Declaration, at: _RouteBlock) -> None:
        options = dict(call.options)
        if any(options.get(key) is _UNKNOWN for key in ("only", "except", "to")):
            return
        if call.values:
            parts = [
                part for value in call.values for part in (value if isinstance(value, list) else [value])
            ]
            if not all(isinstance(part, str) for part in parts):
                return
            options["path"] = "/".join(parts)
        self._visit_all(call.block, replace(at, scope=at.scope.with_options(options)))

    def _namespace(self, call: _Declaration, at: _RouteBlock) -> None:
        name = call.values[0] if call.values else None
        if not isinstance(name, str) or any(
            call.options.get(key) is _UNKNOWN for key in ("only", "except", "to")
        ):
            return
        scope = at.scope.nested() if at.scope.is_in_resource else at.scope
        options = dict(call.options)
        path, prefix = options.pop("path", name), options.get("as", name)
        scope = scope.at_path(path if isinstance(path, str) else "")
        own = {"module": name, "as": name, "shallow_path": path, "shallow_prefix": prefix}
        self._visit_all(call.block, replace(at, scope=scope.with_options(own | options)))

    def _controller(self, call: _Declaration, at: _RouteBlock) -> None:
        if call.values and isinstance(call.values[0], str):
            self._visit_all(call.block, replace(at, scope=replace(at.scope, controller=call.values[0])))

    def _level(self, call: _Declaration, at: _RouteBlock) -> None:
        if at.scope.is_in_resource:
            scope = getattr(at.scope, call.word)()
            self._visit_all(call.block, replace(at, scope=scope))

    def _shallow(self, call: _Declaration, at: _RouteBlock) -> None:
        self._visit_all(call.block, replace(at, scope=replace(at.scope, is_shallow=True)))

    def _same(self, call: _Declaration, at: _RouteBlock) -> None:
        self._visit_all(call.block, at)

    def _with_options(self, call: _Declaration, at: _RouteBlock) -> None:
        """Its options are those of each call in its block; if the block has a variable, of the calls to that."""
        parameters = children(field_of(call.block, "parameters")) if call.block else []
        receiver = self._code.text_of(parameters[0]) if parameters else ""
        self._visit_all(call.block, replace(at, given=call.options, receiver=receiver))

    def _concern(self, call: _Declaration, _: _RouteBlock) -> None:
        if call.values and isinstance(call.values[0], str) and call.block is not None:
            self._concerns[call.values[0]] = (self._code, self._literals, call.block)

    def _use_concerns(self, call: _Declaration, at: _RouteBlock) -> None:
        self._concerns_in(call.values, dict(call.options), at)

    def _concerns_in(self, values: Sequence[object], options: Options, at: _RouteBlock) -> None:
        for value in values:
            for name in value if isinstance(value, list) else [value]:
                code, literals, block = self._concerns.get(str(name), (None, None, None))
                if code is None or literals is None or block is None or at.depth >= _MAX_DEPTH:
                    continue
                parameters = [code.text_of(each) for each in children(field_of(block, "parameters"))]
                inner = replace(at, names=dict.fromkeys(parameters, options), depth=at.depth + 10)
                self._in_file(code, literals, block, inner)

    def _draw(self, call: _Declaration, at: _RouteBlock) -> None:
        name = call.values[0] if call.values else None
        if isinstance(name, str) and re.fullmatch(r"\w+(?:/\w+)*", name) and at.depth < _MAX_DEPTH:
            code = self._file(f"config/routes/{name}.rb")
            if code is not None:
                self._in_file(code, RouteLiterals(code), code.root, replace(at, depth=at.depth + 10))

    def _devise_for(self, call: _Declaration, at: _RouteBlock) -> None:
        options, scope = dict(call.options), at.scope
        if scope.is_in_resource or any(options[key] is _UNKNOWN for key in options.keys() - _NO_MATTER):
            return
        prefix = _text(options.get("as")) or scope.name
        names = options.get("path_names")
        path_names = {**(scope.path_names or {}), **(names if isinstance(names, dict) else {})}
        options = {"module": scope.module} | options | {"path_names": path_names}
        for name in filter(lambda each: isinstance(each, str), call.values):
            code = Code(devise_routes(name, options, self._file, self._inflections).encode())
            plain = self._inflections.singular(f"{prefix}_{name}" if prefix else name)
            outer, path = _text(options.get("path_prefix")) or scope.path, _text(options.get("path"), name)
            own = replace(scope, name=_text(options.get("singular")) or plain, module=None)
            inner = replace(at, scope=replace(own, path=merged_path(outer, path)), given={}, receiver="")
            self._in_file(code, RouteLiterals(code), code.root, inner)

    # Resources

    def _resources(self, call: _Declaration, at: _RouteBlock) -> None:
        for name in call.values:
            if isinstance(name, str):
                self._resource(call, name, at)

    def _resource(self, call: _Declaration, name: str, at: _RouteBlock) -> None:
        options, scope = dict(call.options), at.scope
        if options.get("shallow"):
            scope = replace(scope, is_shallow=bool(options.pop("shallow")))
        if scope.is_in_resource:
            scope = scope.nested()
        of_scope = {key: value for key, value in options.items() if key not in _RESOURCE_OPTIONS}
        is_actions_known = not any(options.get(key) is _UNKNOWN for key in ("only", "except"))
        if any(key in of_scope for key in ("on", "via", "action")) or of_scope.get("to") is _UNKNOWN:
            return
        if of_scope:
            scope = scope.with_options(of_scope)
        given = options.get("as")
        plain = given if isinstance(given, str) else name
        names = (name, self._inflections.singular(plain), self._inflections.plural(name))
        is_single = call.word == RESOURCE
        resource = resource_of(names, options, scope, is_single=is_single, is_api=self._is_api)
        inner = replace(at, scope=scope.inside(resource))
        self._visit_all(call.block, inner)
        concerns = options.get("concerns")
        if concerns and concerns is not _UNKNOWN:
            self._concerns_in([concerns], {}, inner)
        if is_actions_known:
            self._own_routes(inner)

    def _own_routes(self, at: _RouteBlock) -> None:
        scope = at.scope
        resource = scope.resource
        if resource is None:
            return
        collection, new, member = scope.collection(), scope.new(), scope.member()
        own = [
            ("index", "get", collection),
            ("create", "post", collection),
            ("new", "get", new),
            ("edit", "get", member),
            ("show", "get", member),
            ("update", "patch", member),
            ("destroy", "delete", member),
        ]
        if resource.is_single:
            own.append(own.pop(1))
        for action, verb, inside in own:
            if action in resource.actions:
                self._add(RubySymbol(action), verb, {}, replace(at, scope=inside))

    # Single routes

    def _root(self, call: _Declaration, at: _RouteBlock) -> None:
        options = dict(call.options)
        if call.values and isinstance(call.values[0], str):
            options["to"] = call.values[0]
        if at.scope.level == RESOURCES and at.scope.resource:
            scope = replace(at.scope, level=ROOT).at_path(at.scope.resource.path)
            at = replace(at, scope=scope)
        self._match("/", "get", {"as": "root"} | options, at)

    def _verb(self, call: _Declaration, at: _RouteBlock) -> None:
        options, paths = dict(call.options), list(call.values)
        if not paths:  # get 'path' => 'controller#action'
            path = next((key for key in options if not isinstance(key, RubySymbol)), None)
            if path is None:
                return
            target = options.pop(path)
            is_controller = (
                isinstance(target, str) and not isinstance(target, RubySymbol) and "#" not in target
            )
            key = "action" if isinstance(target, RubySymbol) else "controller" if is_controller else "to"
            options[RubySymbol(key)], paths = target, [path]
        via = options.pop("via", at.scope.via)
        first = (via[0] if via else None) if isinstance(via, list) else via
        verb = call.word if call.word != "match" else str(first or "")
        verb = "get" if verb == "all" else verb
        for path in paths:
            if isinstance(path, str) and verb:
                self._match(path, verb, options, at)

    def _match(self, path: str, verb: str, options: Options, at: _RouteBlock) -> None:
        level = options.get("on")
        scope = at.scope
        if isinstance(level, str):
            if level not in {"member", "collection", "new"} or not scope.is_in_resource:
                return
            scope = getattr(scope, level)()
        elif scope.level == RESOURCES:
            scope = scope.nested()
        elif scope.level == RESOURCE:
            scope = scope.member()
        self._add(path, verb, options, replace(at, scope=scope))

    def _add(self, path: str, verb: str, options: Options, at: _RouteBlock) -> None:
        """Draw a route."""
        scope = at.scope
        is_symbol = isinstance(path, RubySymbol)
        own_path = _text(options.get("path")) if is_symbol else path
        given = options.get("as", "")
        full = scope.path_of(path, own_path or (None if is_symbol else path))
        name = ""
        if given is not False:
            name = scope.name_of(path, _text(given) or None)
            if not given and (not re.match(r"[_a-z]", name, re.IGNORECASE) or name in self._named):
                name = ""
        if name:
            self._named.add(name)
        controller, action = _endpoint(path, options, scope)
        if not (controller and _CONTROLLER.fullmatch(controller) and action):
            controller = action = ""
        self.routes.append(DrawnRoute(verb, full, name, controller, action, at.is_conditional))

    _DECLARATIONS: ClassVar[dict[str, Callable[["RouteReader", _Declaration, _RouteBlock], None]]] = {
        **dict.fromkeys(_VERBS, _verb),
        **dict.fromkeys(_WITHOUT_EFFECT, _same),
        "root": _root,
        "resources": _resources,
        "resource": _resources,
        "scope": _scope,
        "namespace": _namespace,
        "controller": _controller,
        **dict.fromkeys(("member", "collection", "new", "nested"), _level),
        "shallow": _shallow,
        "with_options": _with_options,
        "concern": _concern,
        "concerns": _use_concerns,
        "draw": _draw,
        "devise_for": _devise_for,
    }


def _endpoint(path: str, options: Options, scope: RouteScope) -> tuple[str, str]:
    """The controller and the action of a route; empty if they are not known."""
    to = options.get("to", scope.to)
    if to is _UNKNOWN:
        return "", ""
    action = _text(options.get("action"))
    if not to and scope.controller and scope.action:
        to = f"{scope.controller}#{scope.action}"
    if not to and not action and not isinstance(path, RubySymbol):
        plain = path.removesuffix("(.:format)")
        if _SHORT.fullmatch(plain):
            to = re.sub(r"/([^/]*)$", r"#\1", plain.removeprefix("/")).replace("-", "_")
    controller, mark, target = _text(to).partition("#")
    if not mark:
        controller, target = "", ""
    controller = controller or _text(options.get("controller")) or scope.controller or ""
    plain = path.replace("-", "_") if re.fullmatch(r"[\w-]+", path, re.ASCII) else ""
    action = target or action or scope.action or plain
    if scope.module is not None:
        controller = controller[1:] if controller.startswith("/") else f"{scope.module}/{controller}"
    return controller, action


def _text(value: object, default: str = "") -> str:
    return value if isinstance(value, str) else default
