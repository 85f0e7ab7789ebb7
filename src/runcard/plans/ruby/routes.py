"""The routes of a Rails project to the actions of its controllers, from `config/routes.rb`, without running it.

`resources`, `resource`, `get` and the like, `root`, `namespace`, `scope`, `member`, `collection` and `controller` are
known. What is not certain has no route: shallow resources, concerns, routes of engines, names made at run time.
"""

import os
import re
from dataclasses import dataclass, replace
from typing import Any

from runcard.errors import RuncardError
from runcard.files import resolve_below
from runcard.plans.ruby.literals import Literals
from runcard.plans.ruby.rails import singular, underscore
from runcard.plans.ruby.source_text import read_source
from runcard.plans.ruby.syntax_tree import Code, Node, children, field_of, read_code

_VERBS = ("get", "post", "put", "patch", "delete")
_UNKNOWN_BLOCKS = {"concern", "shallow", "resolve", "direct", "mount"}
_PLURAL = (  # of `resources`: action, verb, prefix of the name, for one object
    ("index", "get", "", False),
    ("create", "post", "", False),
    ("new", "get", "new_", False),
    ("edit", "get", "edit_", True),
    ("show", "get", "", True),
    ("update", "patch", "", True),
    ("destroy", "delete", "", True),
)
_SINGLE = tuple((action, verb, prefix, False) for action, verb, prefix, _ in _PLURAL if action != "index")
_OPTIONS = {"to", "as", "on", "via", "controller", "action", "constraints", "defaults", "format", "module"}
_DECISIVE = {"only", "except", "as", "controller", "module", "param", "to", "on", "action"}
_SEGMENT = re.compile(r":(\w+)")
_NAME = re.compile(r"[a-z_]\w*", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class RailsRoute:
    """A route: the verb, and the path as Ruby code, with the parameters that it uses."""

    verb: str
    path_code: str
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _RouteScope:
    """Where in the routes a declaration stands."""

    path: str = ""
    name: str = ""  # prefix of the names of routes
    module: str = ""
    controller: str | None = None
    parameters: tuple[str, ...] = ()
    collection: str | None = None  # in resources: the name of the routes to all objects
    member: str | None = None  # and to one
    level: str = ""  # inside `member` or `collection`
    id_parameter: str = ""


def routes_of(root: str, class_name: str) -> dict[str, RailsRoute]:
    """The routes to the actions of a controller, by action; the first route of an action counts."""
    try:
        path = resolve_below(root, os.path.join("config", "routes.rb"))
        code, _ = read_code(read_source(path))
    except (RuncardError, OSError):
        return {}
    reader = _RouteReader(code)
    waiting: list[tuple[Node, _RouteScope]] = [(code.root, _RouteScope())]
    while waiting:
        waiting += reversed(reader.visit(*waiting.pop()))
    controller = underscore(class_name.removeprefix("::")).removesuffix("_controller")
    return reader.routes.get(controller, {})


class _RouteReader:
    def __init__(self, code: Code) -> None:
        self._code = code
        self._literals = Literals(code)
        self.routes: dict[str, dict[str, RailsRoute]] = {}

    def visit(self, node: Node, scope: _RouteScope) -> list[tuple[Node, _RouteScope]]:
        method = field_of(node, "method") if node.type == "call" else None
        if method is None:
            return [(child, scope) for child in node.named_children]
        word, block = self._code.text_of(method), field_of(node, "block")
        arguments = children(field_of(node, "arguments"))
        options = {
            key: self._literals.value(value) for key, value in self._literals.options(arguments).items()
        }
        names = self._literals.values([part for part in arguments if part.type != "pair"])
        is_uncertain = any(options[name] is None for name in _DECISIVE & options.keys())
        if word in _UNKNOWN_BLOCKS or is_uncertain or "shallow" in options or "concerns" in options:
            return []
        if word in {"resources", "resource"}:
            return [
                (block, inner)
                for name in names
                if isinstance(name, str)
                for inner in [self._resources(name, options, scope, is_plural=word == "resources")]
                if block is not None
            ]
        if word in _VERBS or word == "root":
            self._single(word, names, options, scope)
            return []
        return [(block, self._inner(word, names, options, scope))] if block is not None else []

    def _inner(self, word: str, names: list[Any], options: dict[str, Any], scope: _RouteScope) -> _RouteScope:
        """The scope in the block of a declaration."""
        name = names[0] if names and isinstance(names[0], str) else None
        if word in {"member", "collection"}:
            return replace(scope, level=word)
        if word == "controller" and name:
            return replace(scope, controller=_joined(scope.module, name, "/"))
        if word == "namespace" and name:
            options = {"path": name, "as": name, "module": name} | options
        elif word == "scope":
            options = ({"path": name} if name else {}) | options
        else:
            return scope
        path = f"{scope.path}/{str(options.get('path') or '').strip('/')}".rstrip("/")
        module = _joined(scope.module, _text(options.get("module")), "/")
        own = _text(options.get("controller"))
        return _RouteScope(
            path,
            _joined(scope.name, _text(options.get("as")), "_"),
            module,
            _joined(module, own, "/") if own else scope.controller,
            (*scope.parameters, *_SEGMENT.findall(str(options.get("path") or ""))),
        )

    def _resources(
        self, name: str, options: dict[str, Any], scope: _RouteScope, *, is_plural: bool
    ) -> _RouteScope:
        scope = self._nested(scope)
        base = _text(options.get("as")) or name
        single = singular(base) if is_plural else base
        collection = f"{base}_index" if is_plural and single == base else base
        own = "controller" in options
        controller = _text(options["controller"]) if own else (name if is_plural else _plural(name))
        full = _joined(_joined(scope.module, _text(options.get("module")), "/"), controller, "/")
        only, left_out = _as_list(options.get("only")), _as_list(options.get("except")) or []
        parameter = _text(options.get("param")) or "id"
        for action, verb, prefix, is_member in _PLURAL if is_plural else _SINGLE:
            if (only is None or action in only) and action not in left_out:
                of_all = is_plural and action in {"index", "create"}
                helper = f"{prefix}{_joined(scope.name, collection if of_all else single, '_')}_path"
                parameters = (*scope.parameters, *([parameter] if is_member else []))
                self._add(full, action, _helper_route(verb, helper, parameters))
        path = f"{scope.path}/{_text(options.get('path')) or name}"
        return _RouteScope(
            path,
            scope.name,
            scope.module,
            full,
            scope.parameters,
            collection,
            single,
            id_parameter=parameter if is_plural else "",
        )

    def _nested(self, scope: _RouteScope) -> _RouteScope:
        """The scope of resources inside of other resources."""
        if scope.member is None:
            return scope
        own = (f"{scope.member}_{scope.id_parameter}",) if scope.id_parameter else ()
        path = scope.path + "".join(f"/:{name}" for name in own)
        name = _joined(scope.name, scope.member, "_")
        return _RouteScope(path, name, scope.module, None, (*scope.parameters, *own))

    def _single(self, verb: str, names: list[Any], options: dict[str, Any], scope: _RouteScope) -> None:
        """`get 'path', to: 'controller#action'`, `get :action` in resources, `root 'controller#action'`."""
        paths = [name for name in names if isinstance(name, str)]
        target = _text(options.get("to"))
        if verb == "root":
            verb, target, paths, options = (
                "get",
                target or "".join(paths[:1]),
                ["/"],
                {"as": "root"} | options,
            )
        elif not paths:  # get 'path' => 'controller#action'
            pairs = [(key, value) for key, value in options.items() if key not in _OPTIONS]
            paths, target = [key for key, _ in pairs[:1]], "".join(str(value) for _, value in pairs[:1])
        for path in paths:
            controller, action = self._action(path, target, options, scope)
            level = _text(options.get("on")) or scope.level
            route = self._path_route(verb, path, _text(options.get("as")), scope, level)
            if controller and _NAME.fullmatch(action):
                self._add(controller, action, route)

    def _action(self, path: str, target: str, options: dict[str, Any], scope: _RouteScope) -> tuple[str, str]:
        """The controller and the action that a path leads to."""
        controller, _, action = target.rpartition("#")
        controller = controller or _text(options.get("controller"))
        words = path.strip("/").split("/")
        if not (controller or action or scope.controller) and len(words) == 2:  # get 'photos/list'
            controller = words[0]
        own = _joined(scope.module, controller, "/") if controller else scope.controller or ""
        return own, action or _text(options.get("action")) or words[-1]

    def _path_route(
        self, verb: str, path: str, given: str, scope: _RouteScope, level: str
    ) -> RailsRoute | None:
        own = re.sub(r"\(.*?\)", "", path).strip("/")
        name = given or own.replace("/", "_").replace("-", "_")
        parameters = scope.parameters
        if scope.member is not None:
            if level not in {"member", "collection"}:
                return None
            of_one = level == "member"
            base = _joined(scope.name, scope.member if of_one else scope.collection or "", "_")
            parameters = (*parameters, *([scope.id_parameter] if of_one and scope.id_parameter else []))
            return _helper_route(verb, f"{name}_{base}_path", parameters) if _NAME.fullmatch(name) else None
        parameters = (*parameters, *_SEGMENT.findall(own))
        if _NAME.fullmatch(name):
            return _helper_route(verb, f"{_joined(scope.name, name, '_')}_path", parameters)
        full = f"{scope.path}/{own}".rstrip("/") or "/"
        if not re.fullmatch(r"[\w/:.-]*", full):
            return None
        if not parameters:
            return RailsRoute(verb, f"'{full}'")
        return RailsRoute(verb, '"' + _SEGMENT.sub(r"#{\1}", full) + '"', parameters)

    def _add(self, controller: str, action: str, route: RailsRoute | None) -> None:
        if route is not None:
            self.routes.setdefault(controller, {}).setdefault(action, route)


def _helper_route(verb: str, helper: str, parameters: tuple[str, ...]) -> RailsRoute | None:
    """The route by the helper of its path; None if a name cannot be called."""
    if not all(map(_NAME.fullmatch, (helper, *parameters))):
        return None
    return RailsRoute(verb, f"{helper}({', '.join(parameters)})" if parameters else helper, parameters)


def _plural(name: str) -> str:
    """The controller of a `resource`: `profile` → `profiles`."""
    if name.endswith("y") and name[-2:-1] not in {"a", "e", "i", "o", "u"}:
        return f"{name[:-1]}ies"
    return (
        name
        if name.endswith("s") and not name.endswith("ss")
        else f"{name}{'es' if name.endswith(('ss', 'x', 'ch', 'sh')) else 's'}"
    )


def _joined(first: str, second: str, by: str) -> str:
    return by.join(part for part in (first, second) if part)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _as_list(value: object) -> list[Any] | None:
    if value is None:
        return None
    return value if isinstance(value, list) else [value]
