"""``kafka.security``: whether the clients can do what it says, before one of them is started.

The clients take any word and any path, and fail, if at all, in their own way and at their own time:
one with a traceback, another by ignoring a file that is not there.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stream.config.scalars import closest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stream.config.findings import Findings

__all__ = ["check_security"]

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_OTHER_WORDS: Final = {"TLS": "SSL", "MTLS": "SSL", "SASL": "SASL_SSL", "NONE": "PLAINTEXT"}
_FILES: Final = ("ssl_cafile", "ssl_certfile", "ssl_keyfile")
_SASL: Final = ("sasl_mechanism", "sasl_username", "sasl_password")


def check_security(security: Mapping[str, str], findings: Findings) -> None:
    """Note what no client can do; nothing that a variable held is repeated.

    Args:
        security: as written, without what was left out.
        findings: of this part of the file.
    """
    protocol = security.get("security_protocol", "PLAINTEXT")
    if protocol not in _PROTOCOLS:
        words = ", ".join(_PROTOCOLS)
        near = _OTHER_WORDS.get(protocol.upper().replace("-", "_").split("V")[0])
        hint = f"did you mean `{near}`?" if near else closest(protocol, _PROTOCOLS)
        findings.wrong("security_protocol", f"security_protocol is one of {words}", hint)
        return
    _check_sasl(protocol, security, findings)
    _check_tls(protocol, security, findings)


def _check_sasl(protocol: str, security: Mapping[str, str], findings: Findings) -> None:
    if not protocol.startswith("SASL"):
        better = "SASL_SSL" if protocol == "SSL" else "SASL_PLAINTEXT or SASL_SSL"
        _refuse_first(protocol, [key for key in _SASL if key in security], better, findings)
        return
    missing = [key for key in _SASL if key not in security]
    if missing:
        findings.wrong(
            "security_protocol",
            f"{protocol} needs {' and '.join(missing)}",
            "write sasl_mechanism: PLAIN, sasl_username: NAME, sasl_password: ${KAFKA_PASSWORD}",
        )
    mechanism = security.get("sasl_mechanism", _MECHANISMS[0])
    if mechanism not in _MECHANISMS:
        message = f"sasl_mechanism is one of {', '.join(_MECHANISMS)}"
        findings.wrong("sasl_mechanism", message, closest(mechanism, _MECHANISMS))


def _check_tls(protocol: str, security: Mapping[str, str], findings: Findings) -> None:
    written = [key for key in _FILES if key in security]
    if not protocol.endswith("SSL"):
        better = "SASL_SSL" if protocol.startswith("SASL") else "SSL"
        _refuse_first(protocol, written, better, findings)
        return
    before = len(findings.errors)
    for key in written:
        try:
            readable = Path(security[key]).is_file()
        except (OSError, ValueError):
            readable = False
        if not readable:
            message = f"{key} names no file that can be read"
            findings.wrong(key, message, "write the path of a PEM file")
    if "ssl_keyfile" in security and "ssl_certfile" not in security:
        message = "a key without its certificate"
        findings.wrong("ssl_keyfile", message, "write ssl_certfile: CERTIFICATE.pem, too")
    if len(findings.errors) == before:
        _try_files(security, findings)


def _refuse_first(protocol: str, keys: list[str], better: str, findings: Findings) -> None:
    """Refuse the first of some keys, which play no part."""
    for key in keys[:1]:
        message = f"{key} plays no part under security_protocol {protocol}"
        findings.wrong(key, message, f"write security_protocol: {better}, or remove it", key=True)


def _try_files(security: Mapping[str, str], findings: Findings) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if "ssl_cafile" in security:
        try:
            context.load_verify_locations(security["ssl_cafile"])
        except OSError:  # an SSLError is one
            message = "ssl_cafile holds no certificate"
            hint = "write the path of the authority's certificate, in PEM"
            findings.wrong("ssl_cafile", message, hint)
    if "ssl_certfile" in security:
        try:
            # A key that is locked is asked for its password later, by the client.
            context.load_cert_chain(
                security["ssl_certfile"], security.get("ssl_keyfile"), password=_no_password
            )
        except _LockedError:
            return
        except OSError:
            message = "ssl_certfile and ssl_keyfile are not a certificate and its key"
            hint = "write the paths of two PEM files that belong together"
            findings.wrong("ssl_certfile", message, hint)


class _LockedError(Exception):
    """The key is locked."""


def _no_password() -> str:
    raise _LockedError
