"""The variables that say how a program reaches its providers: proxies, and certificates that it trusts."""

from runcard.observe.meter.adapters import PROXIES, UNCHECKED

CERTIFICATE_FILES = (
    *("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("CODEX_CA_CERTIFICATE", "AWS_CA_BUNDLE", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "DENO_CERT"),
)
CERTIFICATE_FOLDERS = ("SSL_CERT_DIR",)

_PROXIES = (*PROXIES, "no_proxy")
_NAMES = (
    *_PROXIES,
    *(name.upper() for name in _PROXIES),
    *CERTIFICATE_FILES,
    *CERTIFICATE_FOLDERS,
    UNCHECKED,
)


def network_of(environment: dict[str, str]) -> dict[str, str]:
    """Those that are set in an environment."""
    return {name: environment[name] for name in _NAMES if name in environment}
