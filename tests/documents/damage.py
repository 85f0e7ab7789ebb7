"""Good documents with a few values taken out, replaced, or put in."""

from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

from documents.samples import files
from encoding.plain_data import values
from runcard.encoding import decode_json

DOCUMENTS = [
    decode_json(path.read_bytes()) for folder in ("valid", "legacy", "warnings") for path in files(folder)
]

telling: st.SearchStrategy[Any] = st.sampled_from(  # copied, since what is drawn may be damaged further
    [
        *(
            0,
            1,
            -1,
            1.5,
            3.0,
            1e300,
            10**40,
            int("9" * 4300),
            True,
            None,
            "",
            "x",
            "\x1b[2J\n",
            "../x",
            "a/b",
        ),
        *("2025-11-06T14:00:00Z", "2025-11-06T14:00:00", "0000-01-01T00:00:00Z", "9999-12-31T23:59:60Z"),
        *(
            "0001-01-01T00:00:00+23:59",
            "running",
            "completed",
            "priced",
            "estimated",
            "1.0",
            "2.0.0",
            "9.9.9",
        ),
        *(
            "0.1.0",
            [],
            {},
            [None],
            [[]],
            {"": None},
            ["x", "x"],
            {"path": "x"},
            "sha256:" + "0" * 64,
            "0" * 64,
        ),
        "550e8400-e29b-41d4-a716-446655440000",
    ]
).map(deepcopy)

SECTIONS = sorted({key for document in DOCUMENTS for key in document})


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every container and key in a document."""
    found, todo = [], [value]
    while todo:
        container = todo.pop()
        items = list(container.items()) if isinstance(container, dict) else list(enumerate(container))
        found += [(container, key) for key, _ in items]
        todo += [item for _, item in items if isinstance(item, dict | list)]
    return found


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """A good document with a few values taken out, replaced, or put in."""
    document = deepcopy(draw(st.sampled_from(DOCUMENTS)))
    for _ in range(draw(st.integers(1, 4))):
        places = _places(document)
        if not places:
            break
        container, key = draw(st.sampled_from(places))
        action = draw(st.sampled_from(["remove", "replace", "replace", "copy", "insert"]))
        if action == "remove":
            del container[key]
        elif action == "replace":
            container[key] = draw(telling | values)
        elif action == "copy":
            other, there = draw(st.sampled_from(places))
            container[key] = deepcopy(other[there])
        elif isinstance(container, list):
            container.insert(key, draw(telling))
        else:
            container[draw(st.sampled_from(SECTIONS) | st.text(max_size=3))] = draw(telling)
    return document
