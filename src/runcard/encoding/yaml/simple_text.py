"""Texts in the part of YAML that every parser reads alike: the syntax of nearly all plans and configurations.

Maps and lists by indentation, with values on the line of their key: words, numbers, quoted texts, one level of brackets;
literal texts; comments. Not in it: anchors, tags, merge keys, folded texts, texts of several lines in quotes, and every number
that parsers read differently.
"""

import re

# Tabs, control characters, and characters that are a line break in YAML 1.1 only.
_SPECIAL = re.compile("[^\n\r -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_SINGLE = r"(?:'[^'\r\n]*+')++"
_DOUBLE = r'"(?:[^"\\\r\n]|\\(?:[nrtbf"\\/]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}))*+"'
_NUMBER = r"-?(?:0|[1-9][0-9]{0,14}+)(?:\.[0-9]{1,15}+)?+"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]++)?+(?: ?(?:Z|[-+][0-9]{2}:[0-9]{2}))?+)?+"
_DIGEST = r"(?!0b[01]++(?![2-9a-f]))(?=[0-9e]*+[a-df])[0-9][0-9a-f]{31,127}+"
_REST = r"(?:[^:#\r\n]|:(?![ \r\n]|\Z)|(?<! )#)*+"  # of an unquoted text
_UNQUOTED = rf"(?:[A-Za-z/]|_[A-Za-z]|\./|::[A-Za-z]|[0-9]++ [A-Za-z]){_REST}"
_NAME = r"[A-Za-z][A-Za-z0-9_.-]*+"
_ITEM = rf"(?:{_SINGLE}|{_DOUBLE}|{_NAME}|{_NUMBER})"
# Brackets that do not match are left to the parser.
_BRACKETS = rf"[\[{{](?:(?:{_NAME}: )?+{_ITEM}(?:, (?![\]}}])|(?=[\]}}])))*+[\]}}]"
# The first that matches is taken, so what can begin another one comes after it.
_VALUE = rf"(?:{_SINGLE}|{_DOUBLE}|{_UNQUOTED}|{_DATE}|{_DIGEST}|{_NUMBER}|{_BRACKETS}|~)"
_WORD_KEY = r"[A-Za-z_/](?:[A-Za-z0-9_./?!-]|::){0,200}+:"
_KEY = rf"""(?:{_WORD_KEY}|(?:'[^'\r\n]{{0,200}}+'|"[^"\\\r\n]{{0,200}}+"):)"""
_END = r"(?:\r?\n|\Z)"
_COMMENT = r"#[^\r\n]*+"
# The indentation limits how deep a text is nested: no parser runs out of stack.
_LINE = rf"(?:- ){{0,8}}+(?:{_KEY}(?: ++{_VALUE})?+|{_VALUE}|-)?+ *+(?:(?<= ){_COMMENT})?+{_END}"
_LITERAL = rf"{_WORD_KEY} \|-?\r?\n(?P=indent)  [!-~\xa1-\U0010ffff][^\r\n]*+\r?\n(?:(?P=indent)  [^\r\n]*+\r?\n|\r?\n)*+"
_SIMPLE = re.compile(rf"(?:---\r?\n)?+(?:(?P<indent> {{0,64}}+)(?:{_LINE}|{_LITERAL}|{_COMMENT}{_END}))*+\Z")


def is_simple(text: str) -> bool:
    """Whether a text is entirely in this part of YAML. It can still have errors, such as a wrong indentation."""
    if "|" in text and not text.endswith("\n"):  # the end of a literal text: parsers differ
        return False
    return not _has_special(text) and _SIMPLE.match(text) is not None


def _has_special(text: str) -> bool:
    line = text.replace("\n", "")
    if line.isascii() and line.isprintable():  # nearly always, and quick
        return False
    return _SPECIAL.search(text) is not None
