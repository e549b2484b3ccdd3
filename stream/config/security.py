"""``kafka.security``: whether the clients can do what it says, before one of them is started.

The clients take any word and any path, and fail, if at all, in their own way and at their own time:
one with a traceback, another by ignoring a file that is not there.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.config.findings import Findings

__all__ = ["check_security"]

_FILES: Final = ("ssl_cafile", "ssl_certfile", "ssl_keyfile")
_SASL: Final = ("sasl_mechanism", "sasl_username", "sasl_password")


def check_security(security: Mapping[str, str], findings: Findings) -> None:
    """Note what no client can do; nothing that a variable held is repeated.

    Args:
        security: as written, without what was left out.
        findings: of this part of the file.
    """
    protocol = security.get("security_protocol", "PLAINTEXT")
    sasl, tls = protocol.startswith("SASL"), protocol.endswith("SSL")
    for keys, read in ((_SASL, sasl), (_FILES, tls)):
        written = [key for key in keys if key in security and not read]
        for key in written[:1]:
            message = f"{key} has no effect with security_protocol: {protocol}"
            hint = "write another security_protocol, as SASL_SSL, or remove it"
            findings.wrong(key, message, hint, key=True)
    missing = [key for key in _SASL if sasl and key not in security]
    if missing:
        findings.wrong(
            "security_protocol",
            f"{protocol} needs {', '.join(missing)}",
            "write sasl_mechanism: PLAIN, sasl_username: NAME, sasl_password: ${KAFKA_PASSWORD}",
        )
    if tls:
        _try_files(security, findings)


def _try_files(security: Mapping[str, str], findings: Findings) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authorities, certificate = security.get("ssl_cafile"), security.get("ssl_certfile")
    try:
        if authorities is not None:
            context.load_verify_locations(authorities)
    except (OSError, ValueError):  # an SSLError is one
        message = "ssl_cafile is not a readable certificate"
        hint = "write the path of a CA certificate in PEM"
        findings.wrong("ssl_cafile", message, hint)
    if certificate is None:
        if "ssl_keyfile" in security:
            message = "ssl_keyfile needs ssl_certfile"
            findings.wrong("ssl_keyfile", message, "add ssl_certfile: CERTIFICATE.pem")
        return
    try:
        # A key that is locked is asked for its password later, by the client.
        context.load_cert_chain(certificate, security.get("ssl_keyfile"), password=_no_password)
    except _LockedError:
        return
    except (OSError, ValueError):
        message = "ssl_certfile and ssl_keyfile do not match, or are not readable"
        hint = "write the paths of a certificate and its key, in PEM"
        findings.wrong("ssl_certfile", message, hint)


class _LockedError(Exception):
    """The key is locked."""


def _no_password() -> str:
    raise _LockedError
