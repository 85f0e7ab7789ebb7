"""Keys and signatures against OpenSSH, OpenSSL and another implementation of DSSE."""

import base64
import hashlib
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from securesystemslib.dsse import Envelope as OtherEnvelope
from securesystemslib.signer._key import SSlibKey

from conftest import Cli
from runcard.encoding import Limits
from runcard.errors import RuncardError
from runcard.signing.check import check_signatures
from runcard.signing.envelope import (
    STATEMENT_TYPE,
    Envelope,
    EnvelopeError,
    EnvelopeSignature,
    parse_envelope,
    parse_lines,
    signed_bytes,
)
from runcard.signing.private_keys import (
    Signer,
    agent_signer,
    generate_key,
    load_plain_signer,
    load_ssh_signer,
)
from runcard.signing.public_keys import SK_ED25519, parse_key_text, parse_public_key
from runcard.signing.ssh_signature import (
    NAMESPACE,
    covered_bytes,
    encode_ssh_signature,
    parse_ssh_signature,
)
from runcard.signing.wire_format import WireFormatError, string
from signing.conftest import TYPES

SOME_KEY = parse_key_text(
    "ssh-ed25519", "AAAAC3NzaC1lZDI1NTE5AAAAIFl09x0LsPChflgWxU9uULe5I8RXNd+oZ10dR57E2aSj"
)
BEGIN, END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
PAYLOAD = b'{"_type":"https://in-toto.io/Statement/v1"}'


def sealed(signer: Signer, payload: bytes = PAYLOAD) -> Envelope:
    value = signer.sign(signed_bytes(STATEMENT_TYPE, payload))
    return Envelope(STATEMENT_TYPE, payload, (EnvelopeSignature(signer.public_key.fingerprint, value),))


def own_key(folder: Path) -> Path:
    generate_key(str(folder / "key"), "me")
    return folder / "key"


def faults(envelope: Envelope, signer: Signer | None = None) -> list[str | None]:
    """What is wrong with each signature; an SSH signature holds its key."""
    key = SOME_KEY if signer is None else signer.public_key
    return [each.fault for each in check_signatures(envelope, key)]


@pytest.mark.parametrize("name", TYPES)
def test_openssh_accepts_a_signature_of_ours(ssh_keys: Path, tmp_path: Path, name: str) -> None:
    signer = load_ssh_signer(str(ssh_keys / name))
    envelope = sealed(signer)
    allowed, signature = tmp_path / "allowed", tmp_path / "signature"
    allowed.write_text(f"me {(ssh_keys / f'{name}.pub').read_text()}")
    text = base64.encodebytes(envelope.signatures[0].value).decode()
    signature.write_text(f"{BEGIN}\n{text}{END}\n")
    command = ["ssh-keygen", "-Y", "verify", "-f", str(allowed), "-I", "me", "-n", NAMESPACE]
    command += ["-s", str(signature)]
    done = subprocess.run(command, input=envelope.signed_bytes, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert signer.public_key.fingerprint in done.stdout.decode()
    done = subprocess.run(command, input=envelope.signed_bytes + b" ", capture_output=True, check=False)
    assert done.returncode != 0


@pytest.mark.parametrize("name", TYPES)
def test_a_signature_of_openssh_is_accepted(ssh_keys: Path, tmp_path: Path, name: str) -> None:
    data = tmp_path / "data"
    data.write_bytes(signed_bytes(STATEMENT_TYPE, PAYLOAD))
    command = ["ssh-keygen", "-q", "-Y", "sign", "-n", NAMESPACE, "-f", str(ssh_keys / name), str(data)]
    subprocess.run(command, check=True, capture_output=True)
    lines = (tmp_path / "data.sig").read_text().splitlines()
    value = base64.b64decode("".join(lines[1:-1]))
    envelope = Envelope(STATEMENT_TYPE, PAYLOAD, (EnvelopeSignature(None, value),))
    assert faults(envelope) == [None]
    assert faults(envelope._replace(payload=PAYLOAD + b" ")) == ["the signature is wrong"]
    assert faults(envelope._replace(payload_type="text/plain")) == ["the signature is wrong"]


def test_openssl_accepts_a_plain_signature(tmp_path: Path) -> None:
    signer = load_plain_signer(str(own_key(tmp_path)))
    envelope = sealed(signer)
    (tmp_path / "data").write_bytes(envelope.signed_bytes)
    (tmp_path / "sig").write_bytes(envelope.signatures[0].value)
    public = bytes.fromhex("302a300506032b6570032100") + signer.public_key.raw_ed25519()
    (tmp_path / "public.der").write_bytes(public)
    command = "openssl pkeyutl -verify -pubin -keyform DER -inkey public.der -rawin -in data -sigfile sig"
    done = subprocess.run(command.split(), cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"Signature Verified Successfully\n")


def test_another_implementation_reads_an_envelope_of_ours(tmp_path: Path) -> None:
    signer = load_plain_signer(str(own_key(tmp_path)))
    (envelope,) = parse_lines(sealed(signer).to_line(), Limits())
    assert isinstance(envelope, Envelope)
    signature = envelope.signatures[0]
    other = OtherEnvelope.from_dict(
        {
            "payload": base64.b64encode(envelope.payload).decode(),
            "payloadType": envelope.payload_type,
            "signatures": [{"keyid": signature.key_id, "sig": base64.b64encode(signature.value).decode()}],
        }
    )
    value = {"public": signer.public_key.raw_ed25519().hex()}
    key = SSlibKey(str(signature.key_id), "ed25519", "ed25519", value)
    assert other.verify([key], 1).keys() == {signature.key_id}


def test_a_plain_signature_is_checked_with_the_key_that_is_stated(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    mine, other = (load_plain_signer(str(own_key(tmp_path / name))) for name in "ab")
    envelope = sealed(mine)
    assert faults(envelope, mine) == [None]
    assert faults(envelope, other) == ["the signature is wrong"]
    assert faults(envelope._replace(payload=b"{}"), mine) == ["the signature is wrong"]


def test_a_signature_of_another_namespace_is_wrong(ssh_keys: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_bytes(signed_bytes(STATEMENT_TYPE, PAYLOAD))
    subprocess.run(
        ["ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", ssh_keys / "ed25519", data],
        check=True,
        capture_output=True,
    )
    value = base64.b64decode("".join((tmp_path / "data.sig").read_text().splitlines()[1:-1]))
    envelope = Envelope(STATEMENT_TYPE, PAYLOAD, (EnvelopeSignature(None, value),))
    assert faults(envelope) == ["it is a signature for 'git', and not for 'runcard'"]


def hardware_signature(flags: int) -> Envelope:
    """A signature as a hardware key makes it, of a key in memory."""
    private = Ed25519PrivateKey.generate()
    point = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    blob = string(SK_ED25519.encode()) + string(point) + string(b"ssh:")
    key = parse_key_text(SK_ED25519, base64.b64encode(blob).decode())
    covered = covered_bytes(signed_bytes(STATEMENT_TYPE, PAYLOAD), NAMESPACE, "sha512")
    counter = (7).to_bytes(4, "big")
    message = hashlib.sha256(b"ssh:").digest() + bytes([flags]) + counter + hashlib.sha256(covered).digest()
    inner = string(SK_ED25519.encode()) + string(private.sign(message)) + bytes([flags]) + counter
    value = encode_ssh_signature(key, NAMESPACE, "sha512", inner)
    return Envelope(STATEMENT_TYPE, PAYLOAD, (EnvelopeSignature(None, value),))


def test_a_hardware_key_that_was_touched() -> None:
    assert faults(hardware_signature(1)) == [None]
    assert faults(hardware_signature(5)) == [None]
    assert faults(hardware_signature(0)) == ["the signature is wrong"]
    assert faults(hardware_signature(1)._replace(payload=b"{}")) == ["the signature is wrong"]


def test_the_agent_signs(ssh_keys: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from runcard.signing.private_keys import agent_signer\n"
        "from runcard.signing.ssh_signature import parse_ssh_signature\n"
        "signer = agent_signer(None)\n"
        "print(parse_ssh_signature(signer.sign(b'x')).verify(b'x'), signer.public_key.fingerprint)\n"
    )
    script = f"ssh-add -q {ssh_keys / 'ed25519'} && {sys.executable} {program}"
    script += f" && ls -A {tmp_path / 'temporary'}"  # nothing is left there
    (tmp_path / "temporary").mkdir()
    done = subprocess.run(
        ["ssh-agent", "-a", str(tmp_path / "agent"), "sh", "-c", script],
        env=os.environ | {"TMPDIR": str(tmp_path / "temporary")},
        capture_output=True,
        text=True,
        check=False,
    )
    fingerprint = load_ssh_signer(str(ssh_keys / "ed25519")).public_key.fingerprint
    assert (done.stdout, done.stderr) == (f"True {fingerprint}\n", "")


def test_without_an_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    with pytest.raises(RuncardError, match="no SSH agent is running") as refused:
        agent_signer(None)
    assert "ssh-add" in str(refused.value.hint)
    monkeypatch.setenv("SSH_AUTH_SOCK", "/nowhere")
    with pytest.raises(RuncardError, match="does not answer"):
        agent_signer(None)


def test_a_key_with_a_passphrase(ssh_keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuncardError, match="has a passphrase"):
        load_plain_signer(str(ssh_keys / "protected"))
    ask = tmp_path / "ask"
    ask.write_text("#!/bin/sh\necho open sesame\n")
    ask.chmod(0o700)
    monkeypatch.setenv("SSH_ASKPASS", str(ask))
    monkeypatch.setenv("SSH_ASKPASS_REQUIRE", "force")
    signer = load_ssh_signer(str(ssh_keys / "protected"))
    assert faults(sealed(signer)) == [None]
    ask.write_text("#!/bin/sh\necho wrong\n")
    with pytest.raises(RuncardError, match="could not sign"):
        signer.sign(b"x")


def test_a_new_key_is_for_its_owner_alone(cli: Cli, tmp_path: Path) -> None:
    os.umask(os.umask(0))
    done = cli("keygen", "--output", tmp_path / "key", "--name", "alice@example.org")
    assert done.code == 0
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    public = (tmp_path / "key.pub").read_text().split()
    assert public[2] == "alice@example.org"
    shown = subprocess.run(
        ["ssh-keygen", "-y", "-f", tmp_path / "key"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.split()[:2] == public[:2]
    assert done.out.rstrip("\n") == f'alice@example.org namespaces="runcard" {public[0]} {public[1]}'
    again = cli("keygen", "--output", tmp_path / "key")
    assert (again.code, "exists already" in again.err) == (1, True)


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    key = own_key(tmp_path)
    key.chmod(0o644)
    with pytest.raises(RuncardError, match="others may read the key") as refused:
        load_plain_signer(str(key))
    assert "chmod 600" in str(refused.value.hint)


@pytest.mark.parametrize("content", [b"", b"secret", b"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"])
def test_what_is_not_a_key_is_refused_without_its_content(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(RuncardError, match="is not a private key") as refused:
        load_plain_signer(str(path))
    assert "secret" not in str(refused.value)


def test_an_rsa_key_signs_as_ssh_only(ssh_keys: Path) -> None:
    with pytest.raises(RuncardError, match="is of type ssh-rsa"):
        load_plain_signer(str(ssh_keys / "rsa"))


def line(**changes: object) -> bytes:
    """An envelope with some of its fields changed."""
    import json  # noqa: PLC0415

    fields: dict[str, object] = {
        "payloadType": STATEMENT_TYPE,
        "payload": base64.b64encode(PAYLOAD).decode(),
        "signatures": [{"keyid": "", "sig": "AAAA"}],
    }
    return json.dumps({**fields, **changes}).encode()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "is not JSON"),
        (b"[]", "is not an object"),
        (b'{"payload":"","payload":""}', "is not JSON"),  # a key twice
        (line(payloadType=None), "no payloadType"),
        (line(payload=7), "no payload"),
        (line(payload="%%%"), "not Base64"),
        (line(signatures=[]), "no signatures"),
        (line(signatures="x"), "no signatures"),
        (line(signatures=["x"]), "is not an object"),
        (line(signatures=[{"sig": None}]), "no sig"),
        (line(signatures=[{"sig": "A" * 10_000_000}]), "more than 65,536 bytes"),
        (line(signatures=[{"sig": "AAAA"}] * 101), "101 signatures"),
    ],
)
def test_an_envelope_that_is_not_one(data: bytes, message: str) -> None:
    with pytest.raises(EnvelopeError, match=message):
        parse_envelope(data, Limits())


def test_both_alphabets_of_base64_are_read() -> None:
    payload = bytes(range(256))
    urlsafe = base64.urlsafe_b64encode(payload).decode()
    assert parse_envelope(line(payload=urlsafe), Limits()).payload == payload


def ssh_signature(ssh_keys: Path) -> bytes:
    return sealed(load_ssh_signer(str(ssh_keys / "ed25519"))).signatures[0].value


def test_no_bytes_of_a_signature_stop_the_check(ssh_keys: Path) -> None:
    good = ssh_signature(ssh_keys)
    for at in range(len(good)):
        for value in (good[:at], good[:at] + bytes([good[at] ^ 0xFF]) + good[at + 1 :], good + good[:at]):
            if value != good:
                envelope = Envelope(STATEMENT_TYPE, PAYLOAD, (EnvelopeSignature(None, value),))
                (fault,) = faults(envelope)
                assert fault is not None, at


def test_parts_of_an_ssh_signature(ssh_keys: Path) -> None:
    good = parse_ssh_signature(ssh_signature(ssh_keys))
    inner = string(b"ssh-ed25519") + string(good.signature)
    md5 = encode_ssh_signature(good.key, NAMESPACE, "md5", inner)
    with pytest.raises(WireFormatError, match="the hash 'md5' is not supported"):
        parse_ssh_signature(md5)
    rsa = load_ssh_signer(str(ssh_keys / "rsa")).public_key
    sha1 = encode_ssh_signature(rsa, NAMESPACE, "sha512", string(b"ssh-rsa") + string(b"x" * 256))
    (old,) = check_signatures(Envelope(STATEMENT_TYPE, b"", (EnvelopeSignature(None, sha1),)), SOME_KEY)
    assert (old.is_checked, "'ssh-rsa'" in str(old.fault)) == (False, True)
    with pytest.raises(WireFormatError, match="version 2"):
        parse_ssh_signature(b"SSHSIG" + (2).to_bytes(4, "big"))


def test_an_rsa_key_with_a_long_exponent_is_refused() -> None:
    """Checking one signature with it takes as long as a thousand others."""

    def blob(exponent: int) -> bytes:
        numbers = (exponent, (1 << 2047) + 1)
        parts = (number.to_bytes(number.bit_length() // 8 + 1, "big") for number in numbers)
        return b"".join(map(string, (b"ssh-rsa", *parts)))

    for exponent in (3, 65_537, (1 << 63) + 1):
        assert parse_public_key(blob(exponent)).type == "ssh-rsa"
    for exponent in ((1 << 64) + 1, (1 << 2046) + 1):
        with pytest.raises(WireFormatError, match="an exponent of"):
            parse_public_key(blob(exponent))


def test_a_small_rsa_key_is_refused(tmp_path: Path) -> None:
    subprocess.run(
        ["openssl", "genrsa", "-traditional", "-out", tmp_path / "small", "1024"],
        check=True,
        capture_output=True,
    )
    (tmp_path / "small").chmod(0o600)
    with pytest.raises(WireFormatError, match="1024 bits is not accepted"):
        load_ssh_signer(str(tmp_path / "small"))
