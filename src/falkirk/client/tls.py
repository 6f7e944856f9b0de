"""TLS contexts of Kafka's ssl.* configs, for clients and listeners."""

from __future__ import annotations

import os
import ssl
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from falkirk.client.errors import ClientConfigError
from falkirk.client.key_store import read_key_store, read_trust_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.client.key_store import KeyPair, Settings

_CLIENT_AUTH: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
# All that OpenSSL has by default: it cannot restrict them.
_TLS_1_3_SUITES: Final = frozenset({"TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"})


def server_context(settings: Settings, *, client_auth: str | None = None) -> ssl.SSLContext:
    """Return the context of a listener; `client_auth` overrides ssl.client.auth. Raises ClientConfigError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # No session is resumed: a client shows its certificate on every connection.
    context.num_tickets = 0
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
    _restrict(context, settings)
    key_pair = read_key_store(settings)
    if key_pair is None:
        raise ClientConfigError("SSL key store is not specified: ssl.keystore.location or ssl.keystore.key is needed")
    _load_key(context, key_pair)
    wanted = (client_auth or settings("ssl.client.auth") or "none").lower()
    if wanted not in _CLIENT_AUTH:
        raise ClientConfigError(f"ssl.client.auth is '{wanted}': one of {', '.join(_CLIENT_AUTH)} was expected")
    context.verify_mode = _CLIENT_AUTH[wanted]
    if context.verify_mode is not ssl.CERT_NONE:
        _trust(context, settings)
    return context


def client_context(settings: Settings) -> ssl.SSLContext:
    """Return the context of a client. Raises ClientConfigError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _restrict(context, settings)
    algorithm = settings("ssl.endpoint.identification.algorithm")
    # An empty text turns it off, as in Kafka.
    context.check_hostname = algorithm is None or algorithm.strip().lower() == "https"
    context.verify_mode = ssl.CERT_REQUIRED
    _trust(context, settings)
    key_pair = read_key_store(settings)
    if key_pair is not None:
        _load_key(context, key_pair)
    return context


def _restrict(context: ssl.SSLContext, settings: Settings) -> None:
    protocols = _names(settings("ssl.enabled.protocols")) or list(_VERSIONS)
    unknown = [name for name in protocols if name not in _VERSIONS]
    if unknown:
        raise ClientConfigError(f"ssl.enabled.protocols: falkirk has {' and '.join(_VERSIONS)}, not {unknown[0]}")
    versions = [_VERSIONS[name] for name in protocols]
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    suites = _names(settings("ssl.cipher.suites"))
    if suites:
        _choose_suites(context, suites)


def _choose_suites(context: ssl.SSLContext, suites: Sequence[str]) -> None:
    new, old = _TLS_1_3_SUITES & set(suites), [suite for suite in suites if "_WITH_" in suite]
    unknown = set(suites) - new - set(old)
    if unknown:
        raise ClientConfigError(f"ssl.cipher.suites: falkirk has no {min(unknown)}")
    if not new:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    elif new != _TLS_1_3_SUITES:
        raise ClientConfigError(
            f"ssl.cipher.suites: falkirk enables all suites of TLSv1.3 or none: {','.join(sorted(_TLS_1_3_SUITES))}"
        )
    if not old:
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        return
    try:
        context.set_ciphers(":".join(map(_openssl_name, old)))
    except (ssl.SSLError, ValueError) as error:
        raise ClientConfigError(f"ssl.cipher.suites: falkirk has none of {','.join(old)}") from error


def _openssl_name(suite: str) -> str:
    """Translate TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 into ECDHE-RSA-AES128-GCM-SHA256."""
    exchange, _, rest = suite.removeprefix("TLS_").partition("_WITH_")
    cipher = rest.replace("AES_128", "AES128").replace("AES_256", "AES256").replace("_CBC", "")
    if cipher.startswith("CHACHA20_POLY1305"):
        cipher = "CHACHA20-POLY1305"
    parts = [] if exchange == "RSA" else [exchange]
    return "-".join([*parts, cipher]).replace("_", "-")


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _trust(context: ssl.SSLContext, settings: Settings) -> None:
    # As in Java every certificate in the store is trusted, not only those that signed themselves.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    trusted = read_trust_store(settings)
    if trusted is None:
        context.load_default_certs()
    else:
        context.load_verify_locations(cadata=trusted)


def _load_key(context: ssl.SSLContext, key_pair: KeyPair) -> None:
    # Always with a password: without one OpenSSL prompts at the terminal.
    try:
        with _as_file(key_pair.pem) as path:
            context.load_cert_chain(path, password=key_pair.password or "")
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or "the private key or its certificate cannot be read"
        raise ClientConfigError(f"Invalid PEM keystore configs: {reason}") from error


@contextmanager
def _as_file(data: bytes) -> Iterator[str]:
    """Write bytes to a file and yield its path: OpenSSL loads keys from files only. In memory where the machine can."""
    if hasattr(os, "memfd_create"):
        number = os.memfd_create("key")
        try:
            with open(number, "wb", closefd=False) as file:
                file.write(data)
            yield f"/proc/self/fd/{number}"
        finally:
            os.close(number)
        return
    with tempfile.NamedTemporaryFile() as named:
        named.write(data)
        named.flush()
        yield named.name
