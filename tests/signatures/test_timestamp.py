"""Time-stamping records, and verifying the time-stamps. OpenSSL is the authority, and checks them as well."""

import json
import os
import re
import shutil
import socket
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from attacks.edited import session
from conftest import Cli, Outcome
from mcp_server.answers import Tools
from runcard.signing import timestamp_server
from signatures.authority import Authority, served

Fields = dict[str, Any]
TOKEN = "metadata.json.tsr"  # noqa: S105 - the name of a file


def stamp_by_files(cli: Cli, authority: Authority, record: Path | str, **options: str) -> Outcome:
    """Stamp a record without network."""
    request, response = Path("request.tsq"), Path("response.tsr")
    request.unlink(missing_ok=True)
    written = cli("timestamp", record, "--request", request)
    assert written.code == 0, written.err
    authority.replies_to(request, response, **options)
    return cli(
        "timestamp", record, "--request", request, "--response", response, "--tsa-certs", authority.root
    )


def stamped(cli: Cli, authority: Authority, record: Path | str) -> None:
    done = stamp_by_files(cli, authority, record)
    assert done.code == 0, done.err


def report(cli: Cli, record: Path | str, *options: str | Path) -> tuple[int, Fields, list[str]]:
    """The exit code, the entry of the record, and the findings as text."""
    done = cli("verify", "--json", *options, record)
    data = json.loads(done.out)
    texts = [f"{finding['kind']}: {finding['message']}" for finding in data["findings"]]
    return done.code, (data["records"] or [{}])[0], texts


def test_a_record_is_stamped_by_a_server_and_openssl_agrees(
    cli: Cli, run: Path, authority: Authority
) -> None:
    assert report(cli, run)[1]["timestamped"] is None
    before = datetime.now(UTC).replace(microsecond=0)
    with served(authority) as url:
        done = cli("timestamp", run, "--tsa", url, "--tsa-certs", authority.root)
    assert (done.code, done.err) == (0, "")
    assert re.fullmatch(rf"{re.escape(str(run))}: time-stamped \S+Z by Example TSA\n", done.out)
    assert authority.accepts(run / "metadata.json", run / TOKEN)
    code, record, findings = report(cli, run, "--tsa-certs", authority.root)
    (stamp,) = record["timestamps"]
    assert (code, record["timestamped"], findings) == (0, True, [])
    assert (stamp["authority"], stamp["trusted"], stamp["signatures"]) == ("Example TSA", True, 0)
    assert before <= datetime.fromisoformat(stamp["time"]) <= datetime.now(UTC) + timedelta(seconds=2)


def test_the_text_says_by_when_by_whom_by_which_file_and_what_it_does_not_prove(
    cli: Cli, run: Path, authority: Authority
) -> None:
    stamped(cli, authority, run)
    lines = cli("verify", run, "--tsa-certs", authority.root).out.splitlines()
    assert lines[0] == f"{run}: intact, complete, not signed, time-stamped"
    assert re.fullmatch(
        rf"  time-stamped \S+Z at the latest, by Example TSA, trusted by {re.escape(str(authority.root))}",
        lines[1],
    )
    assert "does not prove who made it, nor how old it was" in lines[-1]
    unchecked = cli("verify", run)
    assert unchecked.code == 0
    assert "anyone can be one" in unchecked.out.splitlines()[-1]
    assert report(cli, run)[1]["timestamps"][0]["trusted"] is None


def test_without_network_the_request_and_the_reply_are_files(
    cli: Cli, run: Path, authority: Authority
) -> None:
    asked = cli("timestamp", run, "--request", "a.tsq", "--json")
    (result,) = json.loads(asked.out)["records"]
    assert (result["request"], "time" in result) == ("a.tsq", False)
    again = cli("timestamp", run, "--request", "a.tsq")
    assert (again.code, "a.tsq exists already" in again.err) == (1, True)
    reply = authority.replies_to(Path("a.tsq"), Path("a.tsr"))
    assert cli("timestamp", run, "--response", reply).code == 0
    assert cli("timestamp", run, "--request", "a.tsq", "--response", reply).code == 0
    assert (run / TOKEN).read_bytes() == reply.read_bytes()  # once


def test_a_signature_is_what_is_stamped_and_later_ones_do_not_matter(
    cli: Cli, run: Path, authority: Authority, signers: Path
) -> None:
    cli("sign", run, "--key", "alice")
    first = (run / "metadata.json.sig").read_bytes()
    stamped(cli, authority, run)
    assert authority.accepts(run / "metadata.json.sig", run / TOKEN)
    cli("sign", run, "--key", "bob")
    Path("first.sig").write_bytes(first)
    assert authority.accepts(Path("first.sig"), run / TOKEN)
    stamped(cli, authority, run)
    code, record, findings = report(cli, run, "--tsa-certs", authority.root, "--signers", signers)
    assert (code, findings) == (0, [])
    assert [stamp["signatures"] for stamp in record["timestamps"]] == [1, 2]


def test_a_stamp_from_before_the_signatures_proves_the_record_and_no_signature(
    cli: Cli, run: Path, authority: Authority, signers: Path
) -> None:
    stamped(cli, authority, run)
    cli("sign", run, "--key", "alice")
    _ends(signers, datetime.now(UTC) - timedelta(hours=1))
    assert report(cli, run, "--tsa-certs", authority.root)[0] == 0
    code, record, _ = report(cli, run, "--tsa-certs", authority.root, "--signers", signers)
    assert (code, record["signers"][0]["trusted"], record["timestamps"][0]["trusted"]) == (1, False, True)


def _ends(signers: Path, end: datetime) -> None:
    """The keys are revoked at a time."""
    limited = [
        line.replace(" ", f' valid-before="{end.strftime("%Y%m%d%H%M%SZ")}",', 1)
        if "namespaces" in line
        else line.replace(" ", f' valid-before="{end.strftime("%Y%m%d%H%M%SZ")}" ', 1)
        for line in signers.read_text().splitlines()
    ]
    signers.write_text("\n".join(limited) + "\n")


def test_a_signature_is_trusted_after_the_end_of_its_key_if_a_stamp_proves_that_it_is_older(
    cli: Cli, run: Path, authority: Authority, signers: Path
) -> None:
    from signatures.token_forge import make_reply  # noqa: PLC0415

    cli("sign", run, "--key", "alice")
    other = Path(shutil.copytree(run, run.parent / f"{run.name}-copy"))
    authority.issue(days=("20250101000000Z", "20350101000000Z"))
    assert cli("timestamp", run, "--request", "a.tsq").code == 0
    yesterday = datetime.now(UTC) - timedelta(days=1)
    reply = make_reply(Path("a.tsq").read_bytes(), authority.certificate, authority.key, yesterday)
    Path("a.tsr").write_bytes(reply)
    trusts = ("--tsa-certs", authority.certificate)
    assert cli("timestamp", run, "--response", "a.tsr", *trusts).code == 0
    _ends(signers, datetime.now(UTC) - timedelta(hours=1))
    trusted = report(cli, run, "--signers", signers, *trusts)
    unchecked = report(cli, run, "--signers", signers)
    unstamped = report(cli, other, "--signers", signers, *trusts)
    assert (trusted[0], trusted[1]["signers"][0]["trusted"]) == (0, True)
    for code, record, _ in (unchecked, unstamped):
        assert (code, record["signers"][0]["trusted"]) == (1, False)
        assert "no trusted time-stamp proves that the signature is older" in record["signers"][0]["reason"]


def test_an_agent_sees_signatures_and_stamps(
    cli: Cli, run: Path, authority: Authority, signers: Path
) -> None:
    """`verify_record` of MCP names them, and leaves trust to the reader."""
    answer = Tools()("verify_record", record=str(run))
    assert (answer["signed"], answer["timestamped"], answer["quoted"]["timestamps"]) == (None, None, [])
    assert cli("sign", run, "--key", signers.with_name("alice")).code == 0
    with served(authority) as url:
        assert cli("timestamp", run, "--tsa", url).code == 0
    answer = Tools()("verify_record", record=str(run))
    (signature,), (stamp,) = answer["quoted"]["signatures"], answer["quoted"]["timestamps"]
    assert (answer["signed"], answer["timestamped"]) == (True, True)
    assert (signature["trusted"], stamp["trusted"], stamp["authority"]) == (None, None, "Example TSA")


def test_amendments_archives_and_migrations_keep_the_stamp(cli: Cli, run: Path, authority: Authority) -> None:
    stamped(cli, authority, run)
    assert cli("amend", run, "note", "seen").code == 0
    assert cli("redact", run, "--file", "notes.txt", "--reason", "private", "--yes").code == 0
    assert report(cli, run, "--tsa-certs", authority.root)[1]["timestamped"] is True
    assert cli("archive", run).code == 0
    assert not run.exists()
    (packed,) = run.parent.glob("archive/*/*.tar.gz")
    code, record, _ = report(cli, packed, "--tsa-certs", authority.root, "--require-timestamp")
    assert (code, record["timestamped"]) == (0, True)
    stamped(cli, authority, run.name)  # in the archive
    assert len(report(cli, packed)[1]["timestamps"]) == 2
    assert cli("restore", packed).code == 0
    assert len(report(cli, run)[1]["timestamps"]) == 2


def test_a_session_is_stamped(cli: Cli, here: Path, authority: Authority) -> None:
    path = session(here)
    stamped(cli, authority, path)
    assert authority.accepts(path / "metadata.json", path / TOKEN)
    assert report(cli, path, "--tsa-certs", authority.root)[:1] == (0,)


def test_a_damaged_record_is_not_stamped(cli: Cli, run: Path) -> None:
    (run / "notes.txt").write_text("other\n")
    done = cli("timestamp", run, "--request", "a.tsq")
    assert (done.code, Path("a.tsq").exists()) == (1, False)
    assert "fails verification" in done.err


def test_a_record_may_have_to_be_stamped(cli: Cli, run: Path, authority: Authority) -> None:
    code, record, findings = report(cli, run, "--tsa-certs", authority.root, "--require-timestamp")
    assert (code, record["intact"], findings) == (1, True, ["authority: it is not time-stamped"])
    assert (
        "NOT TIME-STAMPED AS REQUIRED"
        in cli("verify", run, "--tsa-certs", authority.root, "--require-timestamp").out
    )
    assert cli("verify", run, "--require-timestamp").code == 64


# What a hostile record holds.


def test_a_stamp_for_another_record(cli: Cli, run: Path, authority: Authority) -> None:
    stamped(cli, authority, run)
    Path("elsewhere").mkdir()
    other = session(Path("elsewhere"))
    shutil.copy(run / TOKEN, other / TOKEN)
    code, record, findings = report(cli, other, "--tsa-certs", authority.root)
    assert (code, record["timestamped"], record["intact"]) == (1, False, False)
    assert findings == ["timestamp: time-stamp 1 is about something else than this record"]
    (other / TOKEN).unlink()
    refused = cli("timestamp", other, "--response", "response.tsr")
    assert (refused.code, "is not about" in refused.err, (other / TOKEN).exists()) == (1, True, False)


def _cut(data: bytes) -> bytes:
    return data[:-7]


def _twice_cut(data: bytes) -> bytes:
    return data + data[:100]


def _flipped(data: bytes) -> bytes:
    return data[:-20] + bytes([data[-20] ^ 1]) + data[-19:]


def _changed_time(data: bytes) -> bytes:
    found = re.search(rb"20\d{12}Z", data)
    assert found
    return data.replace(found[0], b"19" + found[0][2:], 1)


def _later_time(data: bytes) -> bytes:
    found = re.search(rb"20\d{12}Z", data)
    assert found
    return data.replace(found[0], b"2031" + found[0][4:], 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_cut, "time-stamp 1 cannot be read: the data is cut"),
        (_twice_cut, "time-stamp 2 cannot be read: the data is cut"),
        (_flipped, "time-stamp 1: the signature of the authority is wrong"),
        (_changed_time, "time-stamp 1: the time is before 2000 or after 2200"),
        (_later_time, "time-stamp 1: it was changed after it was signed"),
        (lambda _: b"", "time-stamp 1 cannot be read: the file is empty"),
        (lambda _: b"{}", "time-stamp 1 cannot be read"),
        (lambda _: b"\x30\x84\xff\xff\xff\xff", "time-stamp 1 cannot be read: the data is cut"),
        (lambda _: b"\x30\x80" + bytes(50), "time-stamp 1 cannot be read"),
        (lambda _: b"\x30\x03\x30\x01\x02", "time-stamp 1: the data is cut"),
        (lambda data: data * 101, "there are more than 100 time-stamps"),
        (lambda _: bytes(10_000_000), "the file of time-stamps is too large to be read"),
        (
            lambda _: b"\x30\x83\x20\x00\x00" + bytes(0x200000),
            "time-stamp 1: it has more than 1,048,576 bytes",
        ),
    ],
)
def test_a_broken_stamp_is_a_finding(
    cli: Cli, run: Path, authority: Authority, change: Any, message: str
) -> None:
    stamped(cli, authority, run)
    (run / TOKEN).write_bytes(change((run / TOKEN).read_bytes()))
    code, record, findings = report(cli, run, "--tsa-certs", authority.root)
    assert (code, record["timestamped"]) == (1, False)
    assert any(found.startswith(f"timestamp: {message}") for found in findings), findings


def test_every_cut_and_many_flipped_bits_never_crash(cli: Cli, run: Path, authority: Authority) -> None:
    from runcard.errors import DocumentError  # noqa: PLC0415
    from runcard.signing.timestamp_check import check_token  # noqa: PLC0415
    from runcard.signing.timestamp_token import parse_reply  # noqa: PLC0415

    stamped(cli, authority, run)
    data = (run / TOKEN).read_bytes()
    good = parse_reply(data)
    for size in range(len(data)):
        with pytest.raises(DocumentError):
            parse_reply(data[:size])
    for at in range(len(data)):
        changed = data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :]
        try:
            token = check_token(parse_reply(changed)).token
        except DocumentError:
            continue
        assert (token.imprint, token.time) == (good.imprint, good.time)  # only unsigned parts differ


def test_a_link_in_place_of_the_stamps(cli: Cli, run: Path) -> None:
    (run / TOKEN).symlink_to("/dev/zero")
    code, record, findings = report(cli, run)
    assert (code, record["intact"]) == (1, False)
    assert findings == ["link: it is not a regular file"]


def test_a_file_of_that_name_by_the_user_is_moved_away(here: Path) -> None:
    import runcard  # noqa: PLC0415

    with runcard.record(here / "outputs") as recorded:
        (recorded.path / TOKEN).write_text("mine")
    assert (Path(recorded.path) / "user" / TOKEN).read_text() == "mine"


# Which authorities are refused.


@pytest.mark.parametrize(
    ("purpose", "message"),
    [
        ("critical,serverAuth,timeStamping", "not only for these"),
        ("critical,codeSigning", "is not for time-stamps"),
        (None, "is not for time-stamps"),
        ("timeStamping", "not critical"),
    ],
)
def test_a_certificate_for_another_purpose(
    cli: Cli, run: Path, authority: Authority, purpose: str | None, message: str
) -> None:
    good = authority.certificate.read_bytes(), authority.key.read_bytes()
    stamped(cli, authority, run)
    authority.issue(purpose)
    forged = _forged(authority, Path("request.tsq"), good)
    refused = cli("timestamp", run, "--response", forged)
    assert (refused.code, message in refused.err) == (1, True), refused.err
    shutil.copy(forged, run / TOKEN)
    code, _, findings = report(cli, run)
    assert code == 1
    assert message in findings[0]


def _forged(authority: Authority, request: Path, good: tuple[bytes, bytes]) -> Path:
    """A reply by a certificate that `openssl ts` does not sign with: it is made with another tool."""
    from signatures.token_forge import make_reply  # noqa: PLC0415

    assert good
    path = Path("forged.tsr")
    path.write_bytes(make_reply(request.read_bytes(), authority.certificate, authority.key))
    return path


def test_our_forge_is_accepted_with_a_good_certificate(cli: Cli, run: Path, authority: Authority) -> None:
    stamped(cli, authority, run)
    forged = _forged(authority, Path("request.tsq"), (b"", b""))
    assert authority.accepts(run / "metadata.json", forged)
    assert cli("timestamp", run, "--response", forged, "--tsa-certs", authority.root).code == 0


@pytest.mark.parametrize(
    "days", [("20200101000000Z", "20210101000000Z"), ("21200101000000Z", "21210101000000Z")]
)
def test_a_certificate_that_was_not_valid_then(
    cli: Cli, run: Path, authority: Authority, days: tuple[str, str]
) -> None:
    authority.issue(days=days)
    refused = stamp_by_files(cli, authority, run)
    assert (refused.code, (run / TOKEN).exists()) == (1, False)
    assert "was not valid when it stamped" in refused.err


def test_a_certificate_that_expired_since_is_good(cli: Cli, run: Path, authority: Authority) -> None:
    from signatures.token_forge import make_reply  # noqa: PLC0415

    authority.issue(days=("20250101000000Z", "20260101000000Z"))
    assert cli("timestamp", run, "--request", "a.tsq").code == 0
    then = datetime(2025, 6, 1, tzinfo=UTC)
    Path("a.tsr").write_bytes(
        make_reply(Path("a.tsq").read_bytes(), authority.certificate, authority.key, then)
    )
    done = cli("timestamp", run, "--response", "a.tsr")
    assert done.code == 0, done.err
    assert report(cli, run)[1]["timestamps"][0]["time"] == "2025-06-01T00:00:00Z"


def test_an_authority_that_is_not_trusted(cli: Cli, run: Path, authority: Authority, here: Path) -> None:
    stranger = Authority(here / "stranger")
    done = stamp_by_files(cli, stranger, run)
    assert done.code == 0
    code, record, findings = report(cli, run, "--tsa-certs", authority.root)
    assert (code, record["intact"], record["timestamped"]) == (1, True, True)
    assert record["timestamps"][0]["trusted"] is False
    assert findings == ["authority: no time-stamp is by a trusted authority"]
    refused = cli("timestamp", run, "--response", "response.tsr", "--tsa-certs", authority.root)
    assert (refused.code, "does not lead to a trusted one" in refused.err) == (1, True)


def test_the_certificate_itself_may_be_trusted(cli: Cli, run: Path, authority: Authority) -> None:
    stamped(cli, authority, run)
    assert report(cli, run, "--tsa-certs", authority.certificate)[1]["timestamps"][0]["trusted"] is True


def test_a_certificate_that_may_not_issue_others(
    cli: Cli, run: Path, authority: Authority, here: Path
) -> None:
    from signatures.token_forge import make_reply  # noqa: PLC0415

    stamped(cli, authority, run)
    below = Authority(here / "below")
    below.root, below._root_key = authority.certificate, authority.key
    below.issue()
    reply = make_reply(
        Path("request.tsq").read_bytes(), below.certificate, below.key, others=[authority.certificate]
    )
    Path("below.tsr").write_bytes(reply)
    refused = cli("timestamp", run, "--response", "below.tsr", "--tsa-certs", authority.root)
    assert (refused.code, "does not lead to a trusted one" in refused.err) == (1, True), refused.err


@pytest.mark.parametrize("digest", ["sha1", "md5"])
def test_weak_signatures(cli: Cli, run: Path, authority: Authority, digest: str) -> None:
    from signatures.token_forge import make_reply  # noqa: PLC0415

    assert cli("timestamp", run, "--request", "a.tsq").code == 0
    authority.issue(key=("rsa:2048",))
    reply = make_reply(Path("a.tsq").read_bytes(), authority.certificate, authority.key, digest=digest)
    Path("a.tsr").write_bytes(reply)
    refused = cli("timestamp", run, "--response", "a.tsr")
    assert refused.code == 1
    assert f"signed with {'SHA-1' if digest == 'sha1' else 'MD5'}" in refused.err


@pytest.mark.parametrize("key", [("rsa:2048",), ("rsa:3072",), ("ec", "-pkeyopt", "ec_paramgen_curve:P-384")])
@pytest.mark.parametrize("digest", ["sha256", "sha512"])
def test_the_usual_keys_and_hashes(
    cli: Cli, run: Path, authority: Authority, key: tuple[str, ...], digest: str
) -> None:
    authority.issue(key=key)
    done = stamp_by_files(cli, authority, run, digest=digest, certificate_digest="sha1")
    assert done.code == 0, done.err
    assert authority.accepts(run / "metadata.json", run / TOKEN)


def test_a_short_key(cli: Cli, run: Path, authority: Authority) -> None:
    authority.issue(key=("rsa:1024",))
    refused = stamp_by_files(cli, authority, run)
    assert (refused.code, "has 1,024 bits only" in refused.err) == (1, True), refused.err


# Servers.


def test_a_refusal_is_shown(cli: Cli, run: Path, authority: Authority) -> None:
    from runcard.signing.timestamp_token import TimestampRequest  # noqa: PLC0415

    refusal = authority.reply(TimestampRequest(bytes(32), 1, policy="1.9.9.9").to_bytes())
    with served(authority, body=refusal) as url:
        done = cli("timestamp", run, "--tsa", url)
    assert (done.code, (run / TOKEN).exists()) == (1, False)
    assert "no time-stamp was given (rejected)" in done.err
    assert "policy is not supported" in done.err


def test_a_reply_to_another_request(cli: Cli, run: Path, authority: Authority) -> None:
    for name in ("a", "b"):
        assert cli("timestamp", run, "--request", f"{name}.tsq").code == 0
    reply = authority.replies_to(Path("a.tsq"), Path("a.tsr"))
    with served(authority, body=reply.read_bytes()) as url:
        done = cli("timestamp", run, "--tsa", url)
    assert (done.code, "its nonce differs" in done.err) == (1, True)
    done = cli("timestamp", run, "--request", "b.tsq", "--response", reply)
    assert (done.code, "its nonce differs" in done.err) == (1, True)
    assert not (run / TOKEN).exists()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"status": 500, "body": b"oh no"}, "it answered 500"),
        ({"status": 302, "body": b""}, "it answered 302"),
        ({"body": bytes(3_000_000)}, "more than 1,048,576 bytes"),
        ({"body": b"<html>", "kind": "text/html"}, "is text/html, and not a time-stamp"),
        ({"body": b""}, "the data is cut"),
        ({"body": b"\x30\x03\x02\x01\x02"}, "expected an element"),
    ],
)
def test_a_server_that_answers_something_else(
    cli: Cli, run: Path, authority: Authority, answer: Any, message: str
) -> None:
    with served(authority, **answer) as url:
        done = cli("timestamp", run, "--tsa", url)
    assert (done.code, (run / TOKEN).exists()) == (1, False)
    assert message in done.err


def test_a_slow_server_and_none_at_all(authority: Authority) -> None:
    late = pytest.raises(timestamp_server.AuthorityError, match=r"no reply within 0\.05 seconds")
    with served(authority, delay=0.5, body=b"") as url, late:
        timestamp_server.send_request(url, b"", timeout=0.05)
    with pytest.raises(timestamp_server.AuthorityError):
        timestamp_server.send_request("http://127.0.0.1:1/", b"")


def test_a_server_that_sends_a_byte_now_and_then() -> None:
    """Each read is quick, and the whole never ends."""

    def drip(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection, suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            while not is_over.wait(0.01):
                connection.sendall(b"x")

    is_over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=drip, args=(server,), daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        with pytest.raises(timestamp_server.AuthorityError, match=r"no reply within 0\.1 seconds"):
            timestamp_server.send_request(url, b"", timeout=0.1)
        is_over.set()


@pytest.mark.parametrize(
    "url", ["ftp://example.org", "file:///etc/passwd", "example.org", "http://", "http://[", "http://a:b"]
)
def test_other_addresses_are_wrong_usage(cli: Cli, run: Path, url: str) -> None:
    assert cli("timestamp", run, "--tsa", url).code == 64


def test_no_password_is_shown(cli: Cli, run: Path) -> None:
    done = cli("timestamp", run, "--tsa", "http://me:hunter2@127.0.0.1:1/tsr?key=hunter2")
    assert done.code == 1
    assert "hunter2" not in done.err + done.out


def test_wrong_usage(cli: Cli, run: Path, authority: Authority) -> None:
    assert cli("timestamp", run).code == 64
    assert cli("timestamp", run, "--tsa", "http://x/", "--request", "a").code == 64
    assert cli("timestamp", run, run, "--request", "a").code == 64
    assert cli("timestamp", run, "--tsa", "http://x/", "--tsa-certs", authority.key).code == 64
    assert cli("timestamp", run, "--response", "missing.tsr").code == 1
    assert cli("timestamp", "nothing", "--request", "a").code == 1
    os.mkfifo("pipe")
    assert cli("timestamp", run, "--response", "pipe").code == 1


def test_the_settings_name_an_authority_and_those_to_trust(
    cli: Cli, run: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(authority) as url:
        monkeypatch.setenv("RUNCARD_TSA", url)
        monkeypatch.setenv("RUNCARD_TSA_CERTS", str(authority.root))
        assert cli("timestamp", run).code == 0
    assert report(cli, run)[1]["timestamps"][0]["trusted"] is True


def test_a_repository_cannot_name_whom_to_trust(cli: Cli, run: Path, authority: Authority) -> None:
    stamped(cli, authority, run)
    Path("runcard.toml").write_text(f'[timestamp]\ncertificates = "{authority.root}"\n')
    done = cli("verify", run)
    assert "not checked against certificates that you trust" in done.out
    assert "decides whom you trust" in done.err
