"""The type of plain data."""

from typing import Any

JsonObject = dict[str, Any]  # a JSON object or a YAML mapping, as plain data
