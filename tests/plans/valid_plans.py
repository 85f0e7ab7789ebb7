"""Valid plans of every form, as input for tests."""

from typing import Any

from hypothesis import strategies as st

from documents import samples

Fields = dict[str, Any]

_words = st.text("abcdefgh_é", min_size=1, max_size=6)
_states = st.lists(_words, min_size=2, max_size=4, unique=True)


@st.composite
def characteristics(draw: st.DrawFn, least: int = 2) -> list[Fields]:
    """A forest: each one a root, or the child of one before it."""
    names = draw(st.lists(_words, min_size=least, max_size=4, unique=True))
    found: list[Fields] = []
    for name in names:
        states = draw(_states)
        kind = (
            draw(st.sampled_from(["binary", "enum", "range", "sequential"])) if len(states) == 2 else "enum"
        )
        parent = draw(st.none() | st.sampled_from(found)) if found else None
        one: Fields = {
            "name": name,
            "type": kind,
            "states": states,
            "default": draw(st.none() | st.sampled_from(states)),
            "depends_on": parent["name"] if parent else None,
            "when_parent": draw(st.sampled_from(parent["states"])) if parent else None,
            "level": parent["level"] + 1 if parent else 1,
        }
        if parent and draw(st.booleans()):
            one["when_parent"] = draw(
                st.lists(st.sampled_from(parent["states"]), min_size=1, max_size=2, unique=True)
            )
        found.append(one)
    return found


@st.composite
def plans(draw: st.DrawFn) -> Fields:
    plan = samples.plan()
    plan["characteristics"] = draw(characteristics())
    plan["test_level"] = draw(st.sampled_from(["unit", "integration", "request", "e2e"]))
    plan["target"]["method"] = draw(
        st.sampled_from(["total", "paid?", "save!", "name=", "[]", "<=>", "+@", "größe"])
    )
    if draw(st.booleans()):
        plan = {"format_version": draw(st.sampled_from(["1.3", "2.0"]))} | plan
    return plan
