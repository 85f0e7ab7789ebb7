"""How Rails writes a name as a class and as a path: the part of its rules that names of factories need."""

import re


def camelize(name: str) -> str:
    """`order_item` as `OrderItem`, `admin/user` as `Admin::User`; the name of a class stays as it is."""
    first = re.sub(r"^[a-z\d]+", lambda match: match[0].capitalize(), name)
    rest = re.sub(r"(?:_|(/))([A-Za-z\d]*)", lambda match: (match[1] or "") + match[2].capitalize(), first)
    return rest.replace("/", "::")


def underscore(name: str) -> str:
    """`Admin::OrderItem` as `admin/order_item`."""
    text = re.sub(r"([A-Z\d]+)([A-Z][a-z])", r"\1_\2", name.replace("::", "/"))
    return re.sub(r"([a-z\d])([A-Z])", r"\1_\2", text).lower()
