r"""Searching a configuration file for values of secret names, more strictly than any other text.

In `password: sunshine` of a text, the value may be a word; in a configuration file it is the password. So a value under a
strong name is a secret here unless it is empty, a reference (`${VAR}`, `<%= … %>`, `*alias`), a path, a URL or a sentence for
people. A reference stays, and its default (`${VAR:-sunshine}`) is a value. In a HAR file, `{"name": …, "value": …}` is an
assignment.

Invariants: a value is replaced from its first character to its last, and its line breaks stay. A secret starts less than
`REACH` bytes after its name, and what precedes the name is looked at for as many bytes.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache

from runcard.masking import http_headers, value_checks, value_spans
from runcard.masking.marks import MARK
from runcard.masking.matches import BEHIND, SecretMatch
from runcard.masking.secret_names import Strength, expects_secret, name_hint
from runcard.masking.secret_values import ValueContext, is_placeholder, secret_rule
from runcard.masking.value_spans import CHECKED, WINDOW, ValueSpan

_Find = Callable[[bytes, int], Iterator[SecretMatch]]

_NAME = rb"(?<![\w.\-])(?P<name>[A-Za-z_][\w.\-]{1,63}+)"
_BEHIND_NAME = 150  # a value in a later line starts at most so many bytes after its name
REACH = BEHIND // 2
_MAX_LINES = 4  # of a value in a properties file
_MARK = MARK.encode("ascii")
_LEAST_NUMBER = 1000
_LITERAL = frozenset(
    {"changeme", "changeit", "password"}
)  # placeholders in a text, and passwords in a configuration

_YAML_NAME = _NAME + rb"[\"']?(?:[ \t]{0,4}+:[ \t]{1,32}+(?:&[^\s,\[\]{}]{1,24}+[ \t]{1,8}+)?|=)(?=\S)"
_YAML_BLOCK = rb"[|>][-+0-9]{0,2}[ \t]{0,8}\r?\n"
_YAML_TAG = rb"!![a-z]{1,16}[ \t]{1,8}+"
_YAML_REFERENCE = rb"\*[\w.\-]+[ \t]*(?:[\r\n#,}]|\Z)|!(?!!)|[\[{](?!masked:)"
_PROPERTY_NAME = _NAME + rb"(?:[ \t]{0,16}+[=:][ \t]{0,16}+|[ \t]{1,16}+)(?=\S)"
_PYTHON_NAME = (
    _NAME + rb"[\"']?\]?(?:[ \t]{0,4}:[ \t]{0,4}[\w.\[\], |]{1,24}=[ \t]{0,4}"  # with a type
    rb"|[ \t]{0,4}(?::[ \t]{0,4}[\w.\[\], |]{1,24})?[=:][ \t]{0,4}"
    rb"(?:(?:[\w.]{1,24}\.)?Secret(?:Str|Bytes|Value)?\([ \t]{0,4}"  # SecretStr("…")
    rb"|\([ \t]{0,4}\r?\n[ \t]{0,16}"  # in parentheses over lines
    rb"|[\w.]{1,24}[\[(][ \t]{0,4}[\"'][\w.\-]{1,40}[\"'][ \t]{0,4}"  # the default of a variable
    rb"(?:,[ \t]{0,4}(?:default[ \t]{0,4}=[ \t]{0,4})?|[\])][ \t]{0,4}or[ \t]{1,4})"
    rb"|(?=[bru]{0,2}(?:\"{3}|'{3}))))"
    rb"[bru]{0,2}(?=[\"'])"
)
_PYTHON_DEFAULT = (
    rb"(?:setdefault|environ\.get|getenv|\bconfig|\benv(?:\.\w{1,12})?)\(\s{0,24}+[\"'](?P<name>[A-Za-z_]\w{1,63}+)[\"'],"
    rb"\s{0,24}+(?:default[ \t]{0,4}=[ \t]{0,4})?[bru]{0,2}(?=[\"'])"
)
_VARIABLE = rb"\$\{[\w.]{1,64}(?::-|-|:)(?![?+])(?P<value>[^{}$\r\n]{1,200})\}"
_ERB = (
    rb"<%[^\r\n]{0,40}?(?:fetch\([ ]?[\"'][\w.]{1,40}[\"'][ ]?(?:,[ ]?|\)[ ]?\{[ ]?)|\|\|[ ]?)"
    rb"(?P<quote>[\"'])(?P<value>[^\"'\r\n]{1,200})(?P=quote)"
)
_HAR_PAIR = rb"\"name\"[ \t]{0,4}:[ \t]{0,4}\"(?P<name>[^\"\\\r\n]{1,64}+)\"[ \t]{0,4},\s{0,40}+\"value\"[ \t]{0,4}:[ \t]{0,4}\"(?!\")"
_HAR_PAIR_REVERSED = (
    rb"\"value\"[ \t]{0,4}:[ \t]{0,4}\"(?=(?:[^\"\\\r\n]|\\[^\r\n]){1,2000}+\"[ \t]{0,4},[ \t]{0,8}\"name\"[ \t]{0,4}:"
    rb"[ \t]{0,4}\"(?P<name>[^\"\\\r\n]{1,64}+)\")"
)
_HAR_COOKIE = rb"\",\s{0,40}+\"(?:path|domain|expires|httpOnly|secure|sameSite)\""
_HAR_SESSION = rb"(?i:.*remember.*|.*sess(?:ion)?[_.-]?(?:id)?|(?:connect\.)?s?sid|.*csrf.*|.*xsrf.*)"
_HAR_OPEN = rb"\"name\"[^\n]{0,200}\n(?:[^\n]{0,2048}\n)?[ \t]{0,64}\Z"


def finder(path: str) -> _Find | None:
    """What finds the secrets of a configuration file with this name; None for another file."""
    return _FINDERS.get(path[path.rfind(".") :].lower())


def open_pair(text: bytes, end: int) -> int:
    """Where a name and a value of a HAR file start whose next line is not in `text` yet; else `end`."""
    match = _pattern(_HAR_OPEN).search(text, max(0, end - CHECKED * 9), end)
    return match.start() if match else end


def _find_in_yaml(text: bytes, begin: int) -> Iterator[SecretMatch]:
    for match in _pattern(_YAML_NAME).finditer(text, begin):
        before = _line_before(text, match.start())
        if before is None or not _is_secret_name(match["name"]):
            continue
        name, start = match["name"].decode("latin-1"), match.end()
        if text[start - 1 : start] == b"=" and not before.endswith((b"- ", b'"', b"'")):
            continue
        in_flow = before.rstrip(b" \t\"'").endswith((b"{", b","))
        if before[-1:] in {b'"', b"'"} and text[start - 1 : start] == b"=":
            yield from _checked(name, text, start, _quoted_end(text, start, before[-1:]))
        elif block := _pattern(_YAML_BLOCK).match(text, start):
            yield from _of_block(name, text, block.end(), match.start())
        elif not _pattern(_YAML_REFERENCE).match(text, start):
            yield from _of_yaml_value(name, text, start, in_flow=in_flow, is_comment=b"#" in before)


def _of_yaml_value(
    name: str, text: bytes, start: int, *, in_flow: bool, is_comment: bool
) -> Iterator[SecretMatch]:
    quote = text[start : start + 1]
    if quote in {b'"', b"'"}:
        yield from _checked(name, text, start + 1, _quoted_end(text, start + 1, quote))
        return
    tag = _pattern(_YAML_TAG).match(text, start)
    end = _bare_end(text, start, rb"[^\s,}\]]" if in_flow else rb"\S")
    if text[end - 1 : end] == b",":  # in a flow mapping over lines
        end -= 1
    if not (is_comment and b" " in text[start:end]):
        yield from _checked(name, text, tag.end() if tag else start, end, start)


def _find_in_properties(text: bytes, begin: int) -> Iterator[SecretMatch]:
    for match in _pattern(_PROPERTY_NAME).finditer(text, begin):
        before = _line_before(text, match.start())
        if before is None or before.strip(b" \t#!") or not _is_secret_name(match["name"]):
            continue
        if before.strip() and b" " in text[match.end("name") : _line_end(text, match.end())].strip(b" =:"):
            continue  # a sentence in a comment
        yield from _of_lines(match["name"].decode("latin-1"), text, match.end(), match.start())


def _of_lines(name: str, text: bytes, start: int, name_start: int) -> Iterator[SecretMatch]:
    """The value in this line of a properties file, and in those that continue it after a backslash."""
    for _ in range(_MAX_LINES):
        if start >= len(text) or start - name_start > _BEHIND_NAME:
            return
        end = _line_end(text, start)
        line = text[start:end]
        value = line.removesuffix(b"\\").rstrip(b" \t")
        yield from _checked(name, text, start + _indent(value), start + len(value))
        if not line.endswith(b"\\") or _MARK in line:
            return
        start = _next_line(text, end)


def _of_block(name: str, text: bytes, start: int, name_start: int) -> Iterator[SecretMatch]:
    """The lines of a YAML block, which are indented like the first one."""
    indent = 0
    while start < len(text) and start - name_start <= _BEHIND_NAME:
        end = _line_end(text, start)
        value = text[start:end].rstrip(b" \t")
        if _indent(value) < max(1, indent):
            return
        indent = indent or _indent(value)
        yield from _checked(name, text, start + _indent(value), start + len(value))
        if _MARK in value:  # it was longer: more lines would be near enough now
            return
        start = _next_line(text, end)


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip(b" \t"))


def _find_in_python(text: bytes, begin: int) -> Iterator[SecretMatch]:
    for pattern in (_PYTHON_NAME, _PYTHON_DEFAULT):
        for match in _pattern(pattern).finditer(text, begin):
            if _is_secret_name(match["name"]):
                quote, start = text[match.end() : match.end() + 1], match.end() + 1
                start += 2 * text.startswith(quote * 2, start)
                run = _pattern(rb"(?:[^\\\r\n" + quote + rb"]|\\[^\r\n])*+").match(text, start)
                yield from _checked(match["name"].decode("latin-1"), text, start, run.end() if run else start)


def _find_in_har(text: bytes, begin: int) -> Iterator[SecretMatch]:
    for pattern in (_HAR_PAIR, _HAR_PAIR_REVERSED):
        for match in _pattern(pattern).finditer(text, begin):
            name, start = match["name"].decode("latin-1"), match.end()
            end, more = value_checks.span_of(b'"', value_spans.LOOSE)(text, start)
            secret = _of_pair(name, text, start, ValueSpan(end, more))
            if secret is not None:
                yield secret


def _of_pair(name: str, text: bytes, start: int, span: ValueSpan) -> SecretMatch | None:
    lowered, hint = name.lower(), name_hint(name)
    if lowered in {"cookie", "set-cookie"}:
        return http_headers.cookie(text, start, span, is_set=lowered.startswith("set"))
    if hint and hint.rule == "authorization":
        return http_headers.authorization(text, start, span)
    value = value_spans.value(text, start, span)
    if _pattern(_HAR_COOKIE).match(text, span.end) or _pattern(_HAR_SESSION).fullmatch(
        name.encode("latin-1")
    ):
        return None if is_placeholder(value) else SecretMatch(start, span.end, "cookie", span.more)
    rule = secret_rule(name, value, ValueContext.STRICT)
    return SecretMatch(start, span.end, rule, span.more) if rule else None


def _checked(
    name: str, text: bytes, start: int, end: int, masked_from: int | None = None
) -> Iterator[SecretMatch]:
    """The value as a secret, if it is one; where it is a reference, the default of this."""
    for pattern in (_VARIABLE, _ERB):
        if default := _pattern(pattern).match(text, start, end):
            start, end = default.span("value")
            masked_from = None
            break
    value = text[start : min(end, start + CHECKED)].decode("latin-1")
    rule = _rule(name, value)
    if rule:
        more = _pattern(rb"[^\r\n\"']*+") if end - start >= WINDOW else None
        yield SecretMatch(start if masked_from is None else masked_from, min(end, start + WINDOW), rule, more)


def _rule(name: str, value: str) -> str | None:
    hint = name_hint(name)
    if hint is None or len(value) < value_checks.MIN_VALUE or value.startswith(("<%", "ENC(")):
        return None
    if value in _LITERAL:
        return hint.rule
    if value.isdecimal():
        return hint.rule if expects_secret(name) and int(value[:9]) >= _LEAST_NUMBER else None
    # A value of joined words is no label for people.
    is_joined = hint.strength is Strength.HARD and not {"-", "_"}.isdisjoint(value)
    return secret_rule(name, value, ValueContext.SURE if is_joined else ValueContext.STRICT)


def _is_secret_name(name: bytes) -> bool:
    return name_hint(name.decode("latin-1")) is not None


def _line_before(text: bytes, name: int) -> bytes | None:
    """What precedes a name in its line, if the name may be a key there; else None."""
    line = text[max(0, name - REACH) : name].rpartition(b"\n")[2].rpartition(b"\r")[2]
    rest = line.rstrip(b" \t\"'")
    return line if not rest or rest[-1:] in b"-#{,?!" or rest.endswith(b"\xef\xbb\xbf") else None


def _line_end(text: bytes, start: int) -> int:
    match = _pattern(rb"[^\r\n]*+").match(text, start)
    return match.end() if match else start


def _next_line(text: bytes, end: int) -> int:
    return end + (2 if text.startswith(b"\r\n", end) else 1)


def _bare_end(text: bytes, start: int, character: bytes) -> int:
    """The end of a value without quotes: before a comment, and before the white space at the end of the line."""
    pattern = _pattern(character + rb"++(?:[ \t]++(?!#)" + character + rb"++)*+")
    match = pattern.match(text, start, start + WINDOW)
    return match.end() if match else start


def _quoted_end(text: bytes, start: int, quote: bytes) -> int:
    body = rb"(?:[^'\r\n]|'')*+" if quote == b"'" else rb"(?:[^\"\\\r\n]|\\[^\r\n])*+"
    match = _pattern(body).match(text, start)
    return match.end() if match else start


@cache
def _pattern(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern)


_FINDERS: dict[str, _Find] = {
    ".yml": _find_in_yaml,
    ".yaml": _find_in_yaml,
    ".properties": _find_in_properties,
    ".py": _find_in_python,
    ".har": _find_in_har,
}
