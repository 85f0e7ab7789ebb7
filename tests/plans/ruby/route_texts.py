"""Texts of `config/routes.rb` at random: what Rails allows in blocks of what."""

from random import Random

NAMES = (
    "posts",
    "orders",
    "news",
    "people",
    "addresses",
    "line_items",
    "statuses",
    "wives",
    "boxes",
    "series",
)
SINGLES = ("profile", "cart", "status", "key", "news")
ACTIONS = ("index", "show", "new", "create", "edit", "update", "destroy")
WORDS = ("admin", "api", "v1", "shop", "old-site")


class RouteText:
    """One text."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - no secret
        self._count = 0
        self.lines = ["Rails.application.routes.draw do"]
        self.lines += ["concern(:sortable) { post :sort, on: :collection }"]
        self.lines += ["concern(:noted) { |given| resources :notes, given }"]
        for _ in range(4):
            self._declaration(1, in_resource=False)
        self.lines.append("end")

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"

    def _one(self, *choices: str) -> str:
        return self._random.choice(choices)

    def _maybe(self, text: str, chance: float = 0.2) -> str:
        return text if self._random.random() < chance else ""

    def _declaration(self, depth: int, *, in_resource: bool) -> None:
        kinds = ["resources", "resources", "resource", "scope", "namespace", "single", "single"]
        kinds += ["levels", "concerns", "levels"] if in_resource else ["shallow", "controller"]
        kind = self._one(*kinds) if depth < 5 else "single"
        getattr(self, f"_{kind}")(depth, in_resource=in_resource)

    def _block(self, head: str, depth: int, *, in_resource: bool) -> None:
        self.lines.append(f"{'  ' * depth}{head} do")
        for _ in range(self._random.randint(1, 3)):
            self._declaration(depth + 1, in_resource=in_resource)
        self.lines.append(f"{'  ' * depth}end")

    def _options(self) -> str:
        several = ", ".join(f":{name}" for name in self._random.sample(ACTIONS, 3))
        return (
            self._maybe(f", {self._one('only', 'except')}: [{several}]", 0.4)
            + self._maybe(f", path: '{self._one('p', 'a/b', '')}'", 0.1)
            + self._maybe(f", as: '{self._name()}'", 0.1)
            + self._maybe(f", module: '{self._one('inner', 'deep/er')}'")
            + self._maybe(f", controller: '{self._one('others', 'a/others')}'", 0.1)
            + self._maybe(f", shallow: {self._one('true', 'false')}", 0.1)
            + self._maybe(", concerns: :sortable", 0.1)
        )

    def _name(self) -> str:
        self._count += 1
        return f"{self._one(*NAMES)}_{self._count}" if self._random.random() < 0.5 else f"x{self._count}s"

    def _resources(self, depth: int, *, in_resource: bool) -> None:  # noqa: ARG002 - one signature
        options = self._options() + self._maybe(", param: :slug", 0.1)
        self._block(f"resources :{self._one(*NAMES)}{options}", depth, in_resource=True)

    def _resource(self, depth: int, *, in_resource: bool) -> None:  # noqa: ARG002 - one signature
        self._block(f"resource :{self._one(*SINGLES)}{self._options()}", depth, in_resource=True)

    def _scope(self, depth: int, *, in_resource: bool) -> None:
        parts = [
            self._maybe(f"'{self._one(*WORDS, ':tenant_id', '(:locale)')}'", 0.5),
            self._maybe(f"as: '{self._one('staff', 'x')}'", 0.3),
            self._maybe(f"module: '{self._one('staff', 'y')}'", 0.5),
            self._maybe(f"only: [:{self._one(*ACTIONS)}, :show]"),
            self._maybe("shallow_path: 'sp'", 0.1),
            self._maybe("shallow_prefix: 'sn'", 0.1),
            self._maybe("path_names: { new: 'neu' }", 0.1),
        ]
        given = [part for part in parts if part] or ["path: 'plain'"]
        self._block(f"scope({', '.join(given)})", depth, in_resource=in_resource)

    def _namespace(self, depth: int, *, in_resource: bool) -> None:  # noqa: ARG002 - one signature
        options = (
            self._maybe(", path: 'elsewhere'") + self._maybe(", as: 'named'") + self._maybe(", module: 'm'")
        )
        self._block(f"namespace :{self._one('admin', 'api', 'v1')}{options}", depth, in_resource=False)

    def _shallow(self, depth: int, *, in_resource: bool) -> None:
        self._block("shallow", depth, in_resource=in_resource)

    def _controller(self, depth: int, *, in_resource: bool) -> None:
        self._block("controller :controlled", depth, in_resource=in_resource)

    def _levels(self, depth: int, *, in_resource: bool) -> None:  # noqa: ARG002 - one signature
        self.lines.append(f"{'  ' * depth}{self._one('member', 'collection', 'new', 'member', 'nested')} do")
        self._single(depth + 1, in_resource=False)
        self.lines.append(f"{'  ' * depth}end")

    def _concerns(self, depth: int, *, in_resource: bool) -> None:  # noqa: ARG002 - one signature
        self.lines.append(
            "  " * depth + self._one("concerns :sortable", "concerns :noted, only: [:index, :show]")
        )

    def _single(self, depth: int, *, in_resource: bool) -> None:
        self._count += 1
        verb, word = self._one("get", "post", "delete"), f"act{self._count}"
        target = f"{self._one('pages', 'a/pages')}#{word}"
        named = self._maybe(f", as: '{word}_key'", 0.5)
        ways = [
            f"{verb} '{word}', to: '{target}'",
            f"{verb} '{word}/:key', to: '{target}'{named}",
            f"{verb} '{word}' => '{target}'",
            f"match '{word}-x', to: '{target}', via: [:{verb}, :put]",
            f"{verb} 'pages/{word}'",
            f"{verb} '{word}/(:a(/:b))', to: '{target}', as: :{word}",
        ]
        if in_resource:
            on = self._maybe(f", on: :{self._one('member', 'collection', 'new')}", 0.6)
            ways += [f"{verb} :{word}{on}", f"{verb} '{word}'{on}", f"{verb} :{word}, path: 'q/{word}'{on}"]
        self.lines.append("  " * depth + self._one(*ways))
