"""A time-stamping authority: a CA of OpenSSL made on the fly, and a server that calls `openssl ts -reply`."""

import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import copy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_CONFIG = """
[tsa]
default_tsa = own
[own]
serial = {folder}/serial
default_policy = 1.2.3.4.1
digests = sha256, sha1
signer_digest = {digest}
accuracy = secs:1
ess_cert_id_alg = {certificate_digest}
[other]
default_tsa = own
"""


def openssl(*arguments: str | Path, check: bool = True) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["openssl", *map(str, arguments)], check=check, capture_output=True, timeout=60)


class Authority:
    """A CA and its authority."""

    def __init__(self, folder: Path, name: str = "Example TSA") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.root, self._root_key = folder / "root.pem", folder / "root.key"
        subject = ("-subj", "/CN=Example Root", "-addext", "basicConstraints=critical,CA:TRUE")
        new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        openssl(
            "req", "-x509", *new_key, "-keyout", self._root_key, "-out", self.root, "-days", "30", *subject
        )
        self._name = name
        self.issue()

    def copied(self, folder: Path) -> "Authority":
        """The same authority in another folder: making its keys takes long."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        other = copy(self)
        other.folder = folder
        for name in ("root", "_root_key", "certificate", "key"):
            setattr(other, name, folder / getattr(self, name).name)
        return other

    def issue(
        self,
        purpose: str | None = "critical,timeStamping",
        days: tuple[str, str] | None = None,
        key: tuple[str, ...] = ("ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
        digest: str = "sha256",
    ) -> None:
        """A new certificate for the authority; `days` are its first and last one, as OpenSSL writes times."""
        request, extensions = self.folder / "tsa.csr", self.folder / "extensions"
        self.certificate, self.key = self.folder / "tsa.pem", self.folder / "tsa.key"
        subject = ("-subj", f"/O=Example/CN={self._name}")
        openssl("req", "-newkey", *key, "-nodes", "-keyout", self.key, "-out", request, *subject)
        extensions.write_text("" if purpose is None else f"extendedKeyUsage = {purpose}\n")
        if days is None:
            issuer = ("-CA", self.root, "-CAkey", self._root_key, "-CAcreateserial", "-days", "30")
            openssl(
                "x509",
                "-req",
                "-in",
                request,
                *issuer,
                f"-{digest}",
                "-extfile",
                extensions,
                "-out",
                self.certificate,
            )
        else:
            self._issue_for(request, extensions, days)

    def _issue_for(self, request: Path, extensions: Path, days: tuple[str, str]) -> None:
        folder = self.folder
        (folder / "index").write_text("")
        (folder / "ca.serial").write_text("0A\n")
        config = folder / "ca.cnf"
        config.write_text(
            f"[ca]\ndefault_ca = own\n[own]\ndatabase = {folder}/index\nserial = {folder}/ca.serial\n"
            f"new_certs_dir = {folder}\ndefault_md = sha256\npolicy = any\n[any]\ncommonName = supplied\norganizationName = optional\n"
        )
        issuer = ("-cert", self.root, "-keyfile", self._root_key, "-startdate", days[0], "-enddate", days[1])
        openssl(
            "ca", "-batch", "-notext", "-config", config, "-in", request, *issuer, "-extfile", extensions,
            "-out", self.certificate,
        )  # fmt: skip

    def reply(self, query: bytes, *, digest: str = "sha256", certificate_digest: str = "sha256") -> bytes:
        """The reply to a request, as the authority gives it: also a refusal."""
        number = len(list(self.folder.glob("query-*")))
        request, reply = self.folder / f"query-{number}.tsq", self.folder / f"reply-{number}.tsr"
        request.write_bytes(query)
        config = self.folder / "tsa.cnf"
        config.write_text(
            _CONFIG.format(folder=self.folder, digest=digest, certificate_digest=certificate_digest)
        )
        files = ("-queryfile", request, "-signer", self.certificate, "-inkey", self.key, "-out", reply)
        openssl("ts", "-reply", "-config", config, *files, check=False)
        return reply.read_bytes()

    def replies_to(self, request: Path, response: Path, **options: str) -> Path:
        response.write_bytes(self.reply(request.read_bytes(), **options))
        return response

    def accepts(self, data: Path, response: Path) -> bool:
        """Whether `openssl ts -verify` accepts a reply."""
        done = openssl("ts", "-verify", "-data", data, "-in", response, "-CAfile", self.root, check=False)
        return done.returncode == 0


@contextmanager
def served(
    authority: Authority,
    *,
    status: int = 200,
    body: bytes | None = None,
    delay: float = 0,
    kind: str = "application/timestamp-reply",
) -> Iterator[str]:
    """The URL of the authority; or of a server that answers with something else, slowly or not at all."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.headers["Content-Type"] == "application/timestamp-query"
            time.sleep(delay)
            answer = authority.reply(query) if body is None else body
            self.send_response(status)
            self.send_header("Content-Type", kind)
            if status in {301, 302, 307}:
                self.send_header("Location", "http://127.0.0.1:1/other")
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(
        target=server.serve_forever, args=(0.01,), daemon=True
    )  # seconds to shut it down
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/tsr"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
