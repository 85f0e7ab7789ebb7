"""Laws of masking: they hold of any text, however odd, and however it is cut."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from masking.corpus_lines import read
from masking.fragments import ALNUM, pieces, texts
from runcard.masking import Masker, mask_bytes, mask_command, mask_data, mask_environment, mask_text
from runcard.masking.masker import may_need_masking
from runcard.masking.secret_values import ValueContext, _is_ordinary

SECRETS = [line for line in read("secrets") if "missed" not in line.note]
leaves = texts | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
plain = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(pieces | texts, inner, max_size=4)
)


def fed(parts: list[bytes]) -> tuple[bytes, dict[str, int]]:
    masker = Masker()
    return b"".join(map(masker.feed, parts)) + masker.flush(), masker.counts


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return [shape(item) for item in value.values()]
    if isinstance(value, list):
        return [shape(item) for item in value]
    return str if isinstance(value, str) or _may_be_password(value) else value


def _may_be_password(value: object) -> bool:
    """A long number is masked where a password is expected, and becomes a text then."""
    return type(value) is int and value >= 1000


@settings(deadline=None, max_examples=300)
@given(texts)
def test_masking_twice_is_masking_once(text: str) -> None:
    once = mask_text(text)
    assert mask_text(once.value) == (once.value, {})


@settings(deadline=None, max_examples=300)
@given(texts, st.data())
def test_the_pieces_of_a_stream_do_not_matter(text: str, data: st.DataObject) -> None:
    raw = text.encode("utf-8", "surrogatepass")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=12)))
    parts = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    assert fed(parts) == mask_bytes(raw)


@settings(deadline=None, max_examples=25)
@given(st.sampled_from(SECRETS), st.sampled_from(SECRETS))
def test_a_stream_may_come_byte_by_byte(one: Any, other: Any) -> None:
    raw = f"{one.text}\n{other.text}".encode()
    assert fed([raw[at : at + 1] for at in range(len(raw))]) == mask_bytes(raw)


@settings(deadline=None, max_examples=200)
@given(texts)
def test_text_and_its_bytes_are_masked_alike(text: str) -> None:
    masked = mask_text(text)
    raw = mask_bytes(text.encode("utf-8", "surrogatepass"))
    assert (masked.value.encode("utf-8", "surrogatepass"), masked.counts) == raw


@settings(deadline=None, max_examples=200)
@given(texts)
def test_what_is_not_suspicious_is_not_changed(text: str) -> None:
    masked = mask_text(text)
    assert may_need_masking(text) or masked == (text, {})
    assert bool(masked.counts) == (masked.value != text)


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=400))
def test_bytes_without_a_clue_come_back_as_they_are(raw: bytes) -> None:
    masked = mask_bytes(raw)
    assert masked.counts or masked.value == raw


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(SECRETS), texts, texts)
def test_a_secret_never_shows_whatever_lies_around_its_line(line: Any, before: str, after: str) -> None:
    if "-----" in before + after:
        return  # half a key block is no secret, and its other half may lie anywhere
    shown = mask_text(f"{before}\n{line.text}\n{after}").value
    assert not any(secret in shown for secret in line.secrets if len(secret) >= 16)


@settings(deadline=None, max_examples=200)
@given(plain, st.booleans(), st.sampled_from([None, 2]))
def test_json_stays_json(value: Any, escaped: bool, indent: int | None) -> None:  # noqa: FBT001
    masked = mask_text(json.dumps(value, ensure_ascii=escaped, indent=indent)).value
    assert shape(json.loads(masked)) == shape(value)


@settings(deadline=None, max_examples=200)
@given(plain)
def test_data_keeps_its_shape_and_is_not_touched(value: Any) -> None:
    before = repr(value)
    masked = mask_data(value)
    assert shape(masked.value) == shape(value)
    assert repr(value) == before
    assert mask_data(masked.value) == (masked.value, {})


@settings(deadline=None, max_examples=200)
@given(st.lists(texts, max_size=6))
def test_a_command_keeps_its_length_and_is_masked_once(argv: list[str]) -> None:
    masked = mask_command(argv)
    assert len(masked.value) == len(argv)
    assert mask_command(masked.value) == (masked.value, {})


@settings(deadline=None, max_examples=100)
@given(st.dictionaries(texts, texts, max_size=4))
def test_an_environment_keeps_its_names_and_is_masked_once(variables: dict[str, str]) -> None:
    masked = mask_environment(variables)
    assert list(masked.value) == list(variables)
    assert mask_environment(masked.value) == (masked.value, {})


@settings(deadline=None, max_examples=100)
@given(st.text(ALNUM + "_-", min_size=30, max_size=200), st.sampled_from(["sk-ant-", "hf_", "AIza"]))
def test_a_secret_is_taken_whole_however_long(body: str, prefix: str) -> None:
    text = f"{prefix}{'a1' * 20}{body}"
    assert body[:20] not in mask_text(f"see {text} there").value


@settings(deadline=None, max_examples=300)
@given(
    st.text(ALNUM, min_size=1, max_size=30).filter(lambda text: not text.isalpha()),
    st.sampled_from(list(ValueContext)),
)
def test_letters_and_digits_are_never_ordinary(value: str, context: ValueContext) -> None:
    """So they need no further checks."""
    assert not _is_ordinary("DB_PWD", value, context)
