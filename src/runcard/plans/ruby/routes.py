"""The routes of a Rails project to the actions of its controllers, from `config/routes.rb`, without running it.

The declarations of Rails are followed as Rails follows them, through `draw`, concerns and loops over literals. What is
not certain has no route: methods of gems other than devise, options that are computed, routes of engines.
"""

import os
import re
from dataclasses import dataclass

from runcard.errors import RuncardError
from runcard.files import resolve_below
from runcard.plans.ruby.inflections import inflections_of
from runcard.plans.ruby.rails import underscore
from runcard.plans.ruby.route_reader import DrawnRoute, RouteReader
from runcard.plans.ruby.source_text import read_source
from runcard.plans.ruby.syntax_tree import Code, read_code

_API_ONLY = re.compile(rb"^\s*config\.api_only\s*=\s*true\b", re.MULTILINE)
_PARAMETER = re.compile(r"[:*](\w+)")
_HELPER = re.compile(r"[a-z_]\w*", re.IGNORECASE | re.ASCII)
_PATH = re.compile(r"[\w/:.*-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class RailsRoute:
    """A route: the verb, and the path as Ruby code, with the parameters that it uses."""

    verb: str
    path_code: str
    parameters: tuple[str, ...] = ()


class ProjectRoutes:
    """All routes of a project."""

    def __init__(self, drawn: list[DrawnRoute]) -> None:
        self._drawn = drawn

    def of(self, class_name: str) -> dict[str, RailsRoute]:
        """The routes to the actions of a controller, by action; the first route of an action counts."""
        controller = underscore(class_name.removeprefix("::")).removesuffix("_controller")
        by_action: dict[str, list[DrawnRoute]] = {}
        for route in self._drawn:
            if route.controller == controller:
                by_action.setdefault(route.action, []).append(route)
        found = ((action, _certain(routes, self._drawn)) for action, routes in by_action.items())
        return {action: route for action, route in found if route is not None}


def read_routes(root: str) -> ProjectRoutes:
    code = _code(root, "config/routes.rb")
    if code is None:
        return ProjectRoutes([])
    reader = RouteReader(code, lambda name: _code(root, name), inflections_of(root), is_api=_is_api(root))
    reader.read()
    return ProjectRoutes(reader.routes)


def _certain(routes: list[DrawnRoute], drawn: list[DrawnRoute]) -> RailsRoute | None:
    """The first route; of those that a condition may leave out, the only one."""
    always = [route for route in routes if not route.is_conditional]
    if always:
        return _as_code(always[0], drawn)
    written = {_as_code(route, drawn) for route in routes}
    return written.pop() if len(written) == 1 else None


def _as_code(route: DrawnRoute, drawn: list[DrawnRoute]) -> RailsRoute | None:
    """The route by the helper of its path, which may have its name from another route; else by its path."""
    name = route.name or next((each.name for each in drawn if each.name and each.path == route.path), "")
    path = _required(route.path)
    parameters = tuple(_PARAMETER.findall(path))
    if not all(map(_HELPER.fullmatch, parameters)) or len(set(parameters)) < len(parameters):
        return None
    if name:
        helper = f"{name}_path"
        code = f"{helper}({', '.join(parameters)})" if parameters else helper
        return RailsRoute(route.verb, code, parameters) if _HELPER.fullmatch(helper) else None
    if not _PATH.fullmatch(path):
        return None
    if not parameters:
        return RailsRoute(route.verb, f"'{path}'")
    return RailsRoute(route.verb, '"' + _PARAMETER.sub(r"#{\1}", path) + '"', parameters)


def _required(path: str) -> str:
    """A path without its optional parts: `/posts(/:page)` is `/posts`."""
    while (shorter := re.sub(r"\([^()]*\)", "", path)) != path:
        path = shorter
    return path or "/"


def _code(root: str, name: str) -> Code | None:
    try:
        return read_code(read_source(resolve_below(root, os.path.normpath(name))))[0]
    except (RuncardError, OSError):
        return None


def _is_api(root: str) -> bool:
    try:
        return _API_ONLY.search(read_source(resolve_below(root, "config/application.rb")).text) is not None
    except (RuncardError, OSError):
        return False
