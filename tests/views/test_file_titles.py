"""The title of a file, by which people know what it is about."""

import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcard.views.file_titles import HEAD_BYTES, title_of


@pytest.mark.parametrize(
    ("path", "text", "title"),
    [
        ("a.md", "# Hello *world* [x](http://y) `z`\n", "Hello world x z"),
        ("a.MD", "intro\n\n## Second ##\n# First\n", "Second"),
        ("a.md", "---\ntitle: x\n---\n\nText\n\nThe title\n=====\n", "The title"),
        ("a.md", "```\n# a comment\n```\n### Third\n", "Third"),
        ("a.md", "\ufeff# With a mark\r\n", "With a mark"),
        ("a.md", "no heading\n\n---\n\n#neither\n", None),
        ("a.md", "- item\n---\n", None),
        ("a.md", "# ***\n", None),
        ("a.md", "# " + "long " * 200, ("long " * 20)[:99] + "…"),
        ("a.rst", "=====\nTitle\n=====\n", "Title"),
        ("a.adoc", "// comment\n= The guide\n", "The guide"),
        ("a.html", "<html><TITLE lang=en>A &amp;\n B</TITLE>", "A & B"),
        ("a.py", '#!/usr/bin/env python3\n# coding: utf-8\n\n"""Count users.\n\nMore."""\n', "Count users."),
        ("a.py", "r'''\n  Indented.\n'''\n", "Indented."),
        ("a.py", "'Short'\nimport os\n", "Short"),
        ("a.py", "# Copyright me\n# and others\n\n# Counts users\nimport os\n", "Counts users"),
        ("a.py", "import os\n# not this\n\n'nor this'\n", None),
        ("a.py", 'x = """no docstring"""\n', None),
        (
            "a.js",
            "#!/usr/bin/env node\n'use strict';\n/* eslint-disable */\n/**\n * @file Draws.\n * @author x\n */\n",
            "Draws.",
        ),
        ("a.js", "// Serves files\nconst a = 1;\n", "Serves files"),
        ("a.ts", "/* SPDX-License-Identifier: MIT */\n\n/// <reference types=x />\n// Types\n", "Types"),
        ("a.js", "const a = 1; // no\n", None),
        ("a.rb", "# frozen_string_literal: true\n\n# Bills customers\nclass A\n", "Bills customers"),
        ("a.sh", "#!/bin/sh\n#\n# Deploys it\nset -e\n", "Deploys it"),
        ("a.sh", "#!/bin/sh\nset -e\n# no\n", None),
        ("a.csv", "# Not a title\n", None),
        ("a", "# Not a title\n", None),
    ],
)
def test_titles(path: str, text: str, title: str | None) -> None:
    assert title_of(path, text.encode()) == title


def test_only_the_first_bytes_count_and_only_text() -> None:
    assert title_of("a.md", b" " * HEAD_BYTES + b"\n# Late\n") is None
    assert title_of("a.md", b"# Binary\n\0") is None
    assert title_of("a.md", "# Café".encode("latin-1")) == "Caf\ufffd"


@given(
    st.binary(max_size=300) | st.text("#=-*`'\"/ \n[](<title>!ab\\", max_size=300).map(str.encode), st.data()
)
def test_anything_has_a_title_of_one_short_line_or_none(head: bytes, data: Any) -> None:
    suffix = data.draw(st.sampled_from([".md", ".rst", ".adoc", ".html", ".py", ".js", ".rb", ".sh"]))
    title = title_of(f"a{suffix}", head)
    assert title is None or (0 < len(title) <= 100 and len(title.splitlines()) == 1)


@pytest.mark.parametrize("suffix", [".md", ".rst", ".adoc", ".html", ".py", ".js", ".rb"])
def test_no_text_takes_long(suffix: str) -> None:
    """Each would take minutes if a pattern were tried at every place again and again."""
    for piece in ("[", "[(", "#\n", "# ", "\n", "/*", "/* */", "'use x'", "<title", "-\n", '"', "=", "```\n"):
        title_of(f"a{suffix}", piece.encode() * 100_000)
    title_of(f"a{suffix}", os.urandom(HEAD_BYTES).replace(b"\0", b"x"))
