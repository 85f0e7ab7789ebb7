"""The routes of `devise_for`, written out as declarations of Rails.

They depend on the modules of the model. What is not certain has no routes: models that are not found, callbacks of OmniAuth.
"""

import re
from collections.abc import Callable, Mapping

from runcard.plans.ruby.inflections import Inflections
from runcard.plans.ruby.literals import Literals
from runcard.plans.ruby.rails import camelize, underscore
from runcard.plans.ruby.syntax_tree import BLOCKS, METHODS, Code, children, descendants, field_of

_OF_SESSIONS = """
resource :session, only: [], controller: '{sessions}', path: '' do
  get :new, path: '{sign_in}', as: 'new'
  post :create, path: '{sign_in}'
  match :destroy, path: '{sign_out}', as: 'destroy', via: :{sign_out_via}
end
"""
_OF_PASSWORDS = (
    "resource :password, only: %i[new create edit update], path: '{password}', controller: '{passwords}'"
)
_OF_REGISTRATIONS = """
resource :registration, only: %i[new create edit update destroy], path: '{registration}',
         path_names: {{ new: '{sign_up}', edit: '{edit}', cancel: '{cancel}' }}, controller: '{registrations}' do
  get :cancel
end
"""
_OF_MAILS = "resource :{0}, only: %i[new create show], path: '{{{0}}}', controller: '{{{0}s}}'"
_ROUTES = {  # by the module that they belong to, in the order of devise: their name, and their declarations
    "database_authenticatable": ("session", _OF_SESSIONS),
    "recoverable": ("password", _OF_PASSWORDS),
    "registerable": ("registration", _OF_REGISTRATIONS),
    "confirmable": ("confirmation", _OF_MAILS.format("confirmation")),
    "lockable": ("unlock", _OF_MAILS.format("unlock")),
}
_KINDS = tuple(kind for kind, _ in _ROUTES.values())
_PATH_NAMES = (*_KINDS, "sign_in", "sign_out", "sign_up", "edit", "cancel")
_SETTING = re.compile(
    r"^\s*config\.(sign_out_via|unlock_strategy)\s*=\s*(?:\[|%i\[)?\s*:?(\w+)", re.MULTILINE
)
_SAFE = re.compile(r"[\w/:.-]*", re.ASCII)
_UNSURE = (
    METHODS | BLOCKS | {"if", "unless", "if_modifier", "unless_modifier", "conditional", "case", "binary"}
)

Words = Mapping[str, object]


def devise_routes(
    name: str, options: Words, file: Callable[[str], Code | None], inflections: Inflections
) -> str:
    """The declarations of `devise_for name`, for the scope of its model; empty if they are not certain."""
    model = str(options.get("class_name") or camelize(inflections.singular(name)))
    nothing = Code(b"")
    modules, of_model = _declared(file(f"app/models/{underscore(model)}.rb") or nothing)
    initializer = file("config/initializers/devise.rb") or nothing
    settings = dict(_SETTING.findall(initializer.text.decode())) | of_model
    if settings.get("unlock_strategy", "both") not in {"email", "both"}:
        modules.discard("lockable")
    kept = [
        text
        for module, (kind, text) in _ROUTES.items()
        if module in modules and _is_used(kind, options, inflections)
    ]
    words = _words(options, settings.get("sign_out_via", "delete"))
    is_safe = all(isinstance(word, str) and _SAFE.fullmatch(word) for word in words.values())
    return "\n".join(kept).format(**words) if is_safe else ""


def _words(options: Words, sign_out_via: str) -> dict[str, object]:
    """The controllers and the names in paths, by what devise calls them."""
    words: dict[str, object] = {kind: kind for kind in _PATH_NAMES}
    words |= {f"{kind}s": f"{options.get('module') or 'devise'}/{kind}s" for kind in _KINDS}
    words["registration"] = ""
    for given in (options.get("path_names"), options.get("controllers")):
        # devise looks its keys up as symbols, which are a class of their own here
        known = given.items() if isinstance(given, dict) else ()
        words |= {str(key): value for key, value in known if type(key) is not str}
    return words | {"sign_out_via": options.get("sign_out_via") or sign_out_via}


def _declared(code: Code) -> tuple[set[str], dict[str, str]]:
    """The modules and the options that a model passes to `devise`."""
    modules: set[str] = set()
    options: dict[str, str] = {}
    for node in descendants(code.root, _UNSURE):
        method = field_of(node, "method") if node.type == "call" else None
        if method is not None and code.text_of(method) == "devise":
            literals, arguments = Literals(code), children(field_of(node, "arguments"))
            modules |= {value for value in literals.values(arguments) if isinstance(value, str)}
            options |= {key: str(literals.value(value)) for key, value in literals.options(arguments).items()}
    return modules, options


def _is_used(kind: str, options: Words, inflections: Inflections) -> bool:
    def named(value: object) -> set[str]:
        return {inflections.singular(str(each)) for each in (value if isinstance(value, list) else [value])}

    if "only" in options:
        return kind in named(options["only"])
    return options.get("skip") != "all" and kind not in named(options.get("skip"))
