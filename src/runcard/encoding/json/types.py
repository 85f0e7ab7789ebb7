"""The type of plain data."""

from typing import Any

JsonObject = dict[str, Any]  # a JSON object, or what a YAML mapping says: plain data below
