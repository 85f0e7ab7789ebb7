"""Where in the routes a declaration stands, and the path and the name that it gets there, as Rails makes them.

No syntax is known here. The names of scopes, resources and levels are those of `ActionDispatch::Routing::Mapper`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

RESOURCE, RESOURCES = "resource", "resources"
COLLECTION, MEMBER, NEW, NESTED, ROOT = "collection", "member", "new", "nested", "root"

_CANONICAL = {"index", "create", "new", "show", "update", "destroy"}
_ACTIONS = frozenset({*_CANONICAL, "edit"})
_NAMEABLE = re.compile(r"[\w\-/]+", re.ASCII)
_OPTIONAL_PART = re.compile(r"(\(+[^)]+\))(\(+/:[^)]+\))*")


@dataclass(frozen=True, slots=True)
class RouteResource:
    """`resources :name` or `resource :name`."""

    path: str
    controller: str
    member_name: str
    collection_name: str
    parameter: str
    actions: frozenset[str]
    is_single: bool
    is_shallow: bool

    @property
    def member_path(self) -> str:
        return self.path if self.is_single else f"{self.path}/:{self.parameter}"

    @property
    def nested_path(self) -> str:
        return self.path if self.is_single else f"{self.path}/:{self.member_name}_{self.parameter}"


@dataclass(frozen=True, slots=True)
class RouteScope:
    """What holds for the declarations in a block."""

    path: str = ""
    name: str | None = None  # prefix of the names of routes
    shallow_path: str = ""
    shallow_name: str | None = None
    module: str | None = None
    controller: str | None = None
    action: str | None = None
    to: str | None = None
    via: str | None = None
    path_names: Mapping[str, str] | None = None
    only: frozenset[str] | None = None
    left_out: frozenset[str] | None = None
    is_shallow: bool = False
    shallow_depth: int = 0  # how many of the resources around it are shallow
    level: str = ""
    resource: RouteResource | None = None

    @property
    def is_in_resource(self) -> bool:
        """Whether it is directly in the block of resources: what is declared there is nested."""
        return self.level in {RESOURCE, RESOURCES}

    def at_path(self, path: str) -> "RouteScope":
        return replace(self, path=merged_path(self.path, path))

    def member(self) -> "RouteScope":
        resource = self._resource
        at = replace(self, level=MEMBER)
        if not resource.is_single and at.is_shallow:
            at = at.at_shallow()
        return at.at_path(resource.member_path)

    def collection(self) -> "RouteScope":
        return replace(self, level=COLLECTION).at_path(self._resource.path)

    def new(self) -> "RouteScope":
        return replace(self, level=NEW).at_path(f"{self._resource.path}/{self.path_name('new')}")

    def nested(self) -> "RouteScope":
        resource = self._resource
        at = replace(self, level=NESTED)
        if not resource.is_single and at.is_shallow and at.shallow_depth >= 1:
            at = at.at_shallow()
        at = at.at_path(resource.nested_path)
        return replace(at, name=_prefixed(at.name, resource.member_name))

    def inside(self, resource: RouteResource) -> "RouteScope":
        """The block of resources."""
        return replace(
            self,
            level=RESOURCE if resource.is_single else RESOURCES,
            resource=resource,
            controller=resource.controller,
            shallow_depth=self.shallow_depth + resource.is_shallow,
        )

    def at_shallow(self) -> "RouteScope":
        """Outside of the resources around it."""
        return replace(self, name=self.shallow_name, path=self.shallow_path)

    @property
    def _resource(self) -> RouteResource:
        assert self.resource is not None  # noqa: S101 - only in the block of resources
        return self.resource

    def with_options(self, options: Mapping[str, object]) -> "RouteScope":
        """The block of `scope`, with the options that are given."""
        at = self
        given = {key: value if isinstance(value, str) else None for key, value in options.items()}
        if self.level != NESTED:
            given = {"shallow_path": given.get("path"), "shallow_prefix": given.get("as")} | given
            given = {key: value for key, value in given.items() if value is not None or key in options}
        if "only" in options or "except" in options:
            at = replace(
                at, only=action_names(options.get("only")), left_out=action_names(options.get("except"))
            )
        if "path" in given:
            at = at.at_path(given["path"] or "")
        if "shallow_path" in given:
            at = replace(at, shallow_path=merged_path(at.shallow_path, given["shallow_path"] or ""))
        if "as" in given:
            at = replace(at, name=_prefixed(at.name, given["as"]))
        if "shallow_prefix" in given:
            at = replace(at, shallow_name=_prefixed(at.shallow_name, given["shallow_prefix"]))
        if "module" in given:
            at = replace(at, module=_prefixed(at.module, given["module"], "/"))
        names = options.get("path_names")
        if isinstance(names, dict):
            at = replace(at, path_names={**(at.path_names or {}), **names})
        return replace(
            at,
            is_shallow=bool(options["shallow"]) if "shallow" in options else at.is_shallow,
            controller=given.get("controller", at.controller),
            action=given.get("action", at.action),
            to=given.get("to", at.to),
            via=given.get("via", at.via),
        )

    # Routes

    def path_name(self, action: str) -> str:
        return (self.path_names or {}).get(action, action)

    def path_of(self, action: str, path: str | None) -> str:
        """The path of a route."""
        if path is not None:
            return normalized(f"{self.path}/{path}")
        return normalized(
            self.path if self._is_canonical(action) else f"{self.path}/{self.path_name(action)}"
        )

    def name_of(self, action: str, given: str | None) -> str:
        """The name of a route; empty if it has none."""
        known = action if _NAMEABLE.fullmatch(action) else None
        if self.resource is not None and given is None and known is None:
            return ""
        prefix = given if given is not None else "" if known is None or self._is_canonical(known) else known
        if prefix == "/":
            prefix = ""
        prefix = normalized(prefix.replace("-", "_"))[1:].replace("/", "_") if prefix else ""
        one = self.resource.member_name if self.resource else None
        many = self.resource.collection_name if self.resource else None
        parts = {
            NESTED: (self.name, prefix),
            COLLECTION: (prefix, self.name, many),
            NEW: (prefix, "new", self.name, one),
            MEMBER: (prefix, self.name, one),
            ROOT: (self.name, many, prefix),
        }.get(self.level, (self.name, one, prefix))
        return "_".join(part for part in parts if part)

    def _is_canonical(self, action: str) -> bool:
        return self.level in {COLLECTION, MEMBER, NEW} and action in _CANONICAL


def resource_of(
    names: tuple[str, str, str],
    options: Mapping[str, object],
    scope: RouteScope,
    *,
    is_single: bool,
    is_api: bool,
) -> RouteResource:
    """A declared resource: its name, the singular of what its routes are named after, and the plural of its name."""
    name, one, many = names
    only, left_out = action_names(options.get("only")), action_names(options.get("except"))
    if only is None and left_out is None:  # those of the scopes around it
        only, left_out = scope.only, scope.left_out
    known = _ACTIONS - {"index"} if is_single else _ACTIONS
    if only is None:
        only = known - {"new", "edit"} if is_api else known
    plain = _text(options.get("as")) or name
    return RouteResource(
        _text(options.get("path"), name),
        _text(options.get("controller")) or (many if is_single else name),
        plain if is_single else one,
        plain if is_single else (f"{plain}_index" if one == plain else plain),
        _text(options.get("param")) or "id",
        (known & only) - (left_out or frozenset()),
        is_single,
        scope.is_shallow,
    )


def action_names(value: object) -> frozenset[str] | None:
    if value is None or value is False:
        return None
    return frozenset(str(each) for each in (value if isinstance(value, list) else [value]))


def merged_path(outer: str, inner: str) -> str:
    return normalized(f"{outer}/{inner}")


def normalized(path: str) -> str:
    """A path with one slash at the beginning and between its parts, and none at the end."""
    path = re.sub("/+", "/", f"/{path}")
    path = path if path == "/" else path.removesuffix("/")
    path = re.sub(r"/(\(+)/?", r"\1/", path)
    return re.sub(r"^(\(+)/", r"/\1", path, count=1) if _OPTIONAL_PART.fullmatch(path) else path


def _prefixed(outer: str | None, inner: str | None, mark: str = "_") -> str | None:
    return inner if outer is None else f"{outer}{mark}{inner or ''}"


def _text(value: object, default: str = "") -> str:
    return value if isinstance(value, str) else default
