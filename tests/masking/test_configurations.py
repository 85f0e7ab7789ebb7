"""Laws of masking in configuration files, tried with the files of the corpus."""

import json
from random import Random

import pytest
import yaml

from masking.corpus_classes import Sample, read_files
from runcard.masking import Masker
from runcard.masking.matches import AHEAD, BEHIND

FILES = [
    pytest.param(name, sample, id=f"{name}: {sample.label}")
    for folder in ("configuration_secrets", "configuration_innocents")
    for name, samples in read_files(folder).items()
    for sample in samples
]
MOST_HELD = BEHIND + 6 * AHEAD
NAMES = sorted(read_files("configuration_secrets"))


def masked(name: str, *parts: bytes) -> tuple[bytes, dict[str, int]]:
    masker = Masker(file_name=name)
    return b"".join(map(masker.feed, parts)) + masker.flush(), masker.counts


@pytest.mark.parametrize(("name", "sample"), FILES)
class TestLaws:
    def test_the_pieces_of_a_stream_do_not_matter(self, name: str, sample: Sample) -> None:
        raw = sample.text.encode()
        assert masked(name, *(raw[at : at + 1] for at in range(len(raw)))) == masked(name, raw)

    def test_masking_twice_is_masking_once(self, name: str, sample: Sample) -> None:
        once, _ = masked(name, sample.text.encode())
        assert masked(name, once) == (once, {})

    def test_line_ends_stay_and_do_not_matter(self, name: str, sample: Sample) -> None:
        raw = sample.text.encode()
        for end in (b"\n", b"\r\n"):
            text, _ = masked(name, raw.replace(b"\n", end))
            assert text.count(end) == text.count(b"\n") == raw.count(b"\n")
            assert text.replace(end, b"\n") == masked(name, raw)[0]

    def test_its_format_stays(self, name: str, sample: Sample) -> None:
        text, _ = masked(name, sample.text.encode())
        if name.endswith(".har"):
            assert json.loads(text).keys() == json.loads(sample.text).keys()
        elif name.endswith(".yml") and "<%" not in sample.text and "\t" not in sample.text:
            assert len(list(yaml.parse(text))) >= len(list(yaml.parse(sample.text)))


@pytest.mark.parametrize("name", NAMES)
def test_a_secret_in_a_large_file_does_not_depend_on_where_the_file_is_cut(name: str) -> None:
    texts = [sample.text.rstrip("\n") + "\n" for sample in read_files("configuration_secrets")[name]]
    raw = "".join(texts * 60).encode()
    whole, random = masked(name, raw), Random(7)  # noqa: S311
    cuts = sorted(random.sample(range(len(raw)), 40))
    parts = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    assert masked(name, *parts) == whole


@pytest.mark.parametrize("name", ["notes.md", "", "yml", "settings.pyc"])
def test_other_files_are_texts(name: str) -> None:
    raw = b"password: sunshine\n"
    assert masked(name, raw) == (raw, {})


@pytest.mark.parametrize("name", ["x.yml", "x.YAML", "a/b.Yml"])
def test_the_suffix_decides_in_any_case(name: str) -> None:
    assert masked(name, b"password: sunshine\n") == (b"password: [masked:password]\n", {"password": 1})


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("x.yml", "password: &a sunshine # b\n", "password: &a [masked:password] # b\n"),
        ("x.yml", "password: !!str 12345678\n", "password: [masked:password]\n"),
        ("x.yml", "password: !Ref sunshine\n", "password: !Ref sunshine\n"),
        ("x.yml", "password: *sunshine2 # b\n", "password: *sunshine2 # b\n"),
        ("x.yml", "token: sunshine\n", "token: sunshine\n"),
        ("x.yml", "label: x, password: sun shine\n", "label: x, password: [masked:password]\n"),
        ("x.yml", "{password: sun, host: a}\n", "{password: [masked:password], host: a}\n"),
        ("x.yml", "password: ${P:-sun}\n", "password: ${P:-[masked:password]}\n"),
        ("x.yml", "password: 'it''s'\n", "password: '[masked:password]'\n"),
        ("x.yml", "pins:\n  passwords: 3\n", "pins:\n  passwords: 3\n"),
        ("x.yml", "password: 999\n", "password: 999\n"),
        ("x.yml", "password: 1000\n", "password: [masked:password]\n"),
        ("x.yml", "password: ab\n", "password: ab\n"),
        ("x.yml", "text: the password: sunshine\n", "text: the password: sunshine\n"),
        ("x.yml", "password: >\n  one\n  two\nb: c\n", "password: >\n  [masked:password]\n  [masked:password]\nb: c\n"),
        ("x.properties", "db.password=a\\\n  bcd\\\n  efg\nh=i\n", "db.password=a\\\n  [masked:password]\\\n  [masked:password]\nh=i\n"),
        ("x.yml", "# password: see handbook\n", "# password: see handbook\n"),
        ("x.har", '{"name": "set-cookie", "value": "a=sun; Path=/"}', '{"name": "set-cookie", "value": "a=[masked:cookie]; Path=/"}'),
        ("x.properties", "# the password is long\n", "# the password is long\n"),
        ("x.properties", "#db.password=sunshine\n", "#db.password=[masked:password]\n"),
        ("x.properties", "db.password=a bc\rhost=x\n", "db.password=[masked:password]\rhost=x\n"),
        ("x.yml", "a: b\rpassword: a bc\rhost: x\n", "a: b\rpassword: [masked:password]\rhost: x\n"),
        ("x.py", "TOKEN = get('api_token', 'sun')\n", "TOKEN = get('api_token', 'sun')\n"),
        ("x.py", "KEY = os.environ['SECRET_KEY'] or 'sun'\n", "KEY = os.environ['SECRET_KEY'] or 'sun'\n"),
        ("x.py", "SECRET_KEY = os.environ['K'] or 'sun'\n", "SECRET_KEY = os.environ['K'] or '[masked:named-secret]'\n"),
        ("x.har", '{"name": "a", "value": "sun", "path": "/"}', '{"name": "a", "value": "[masked:cookie]", "path": "/"}'),
        ("x.har", '{"name": "a", "value": "sun", "paths": "/"}', '{"name": "a", "value": "sun", "paths": "/"}'),
    ],
)  # fmt: skip
def test_exactly_the_value_is_masked(name: str, before: str, after: str) -> None:
    assert masked(name, before.encode())[0].decode() == after


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.yml", "password: |\n" + f"  {'a1' * 40}\n" * 3),
        ("x.properties", "password=" + f"{'a1' * 40}\\\n" * 3),
    ],
)
def test_masking_lines_twice_is_masking_them_once(name: str, text: str) -> None:
    once, _ = masked(name, text.encode())
    assert once.count(b"[masked:password]") == 2
    assert masked(name, once) == (once, {})


def test_a_long_value_does_not_depend_on_where_the_file_is_cut() -> None:
    raw = b"password=" + b"a1b;" * 10_000 + b"\nhost=a\n"
    parts = [raw[at : at + 1000] for at in range(0, len(raw), 1000)]
    assert masked("x.properties", *parts)[0] == b"password=[masked:password]\nhost=a\n"


@pytest.mark.parametrize("name", NAMES)
def test_bytes_of_no_encoding_do_no_harm(name: str) -> None:
    raw = bytes(range(256)) * 40 + b"\npassword: \xb2\xb3\xb9\npassword=\xb2\xb3\xb9\n"
    assert masked(name, raw)[0].startswith(raw[:256])


HOSTILE = (
    b"- PASSWORD=x", b"password: '", b"password=a\\\n", b"password: |\n a\n", b"SECRET_KEY = (\n", b'"name":"password",\n',
    b'"name": "', b'"value":"a",', b'password: <%= fetch("a", ', b"password: &a ", b"{", b"a" * 999 + b"\n" + b" " * 400 + b"pw: x",
)  # fmt: skip


@pytest.mark.parametrize("name", ["x.yml", "x.properties", "x.py", "x.har"])
@pytest.mark.parametrize("piece", HOSTILE)
def test_memory_for_hostile_files_is_bounded(name: str, piece: bytes) -> None:
    masker, raw = Masker(file_name=name), piece * (150_000 // len(piece))
    for at in range(0, len(raw), 4096):
        masker.feed(raw[at : at + 4096])
        assert len(masker._text) < MOST_HELD
