"""ssl.* keys: what makes a context, and what is refused with Kafka's words."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from tls_files import STORE_PASSWORD, Authority, chain, having, one_line, pem_file, pkcs12_file

from falkirk.client.config import ClientConfig
from falkirk.client.errors import ClientConfigError
from falkirk.client.tls import client_context, server_context

if TYPE_CHECKING:
    from pathlib import Path

AUTHORITY = Authority()
LEAF = AUTHORITY.issue(common_name="server")
INLINE = having(LEAF)


def handshake(server: ssl.SSLContext, client: ssl.SSLContext) -> ssl.SSLObject:
    """Let both ends shake hands without a network; return the client's."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname="127.0.0.1"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    waiting = set(ends)
    for end in ends * 4:
        try:
            end.do_handshake()
            waiting.discard(end)
        except ssl.SSLWantReadError:
            pass
    assert not waiting
    return ends[0]


def encrypted_key(password: str) -> str:
    key = load_pem_private_key(LEAF.private_key_pem.bytes(), None)
    protection = BestAvailableEncryption(password.encode())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, protection).decode()


def test_a_key_stands_inline_in_a_file_or_in_a_store(tmp_path: Path) -> None:
    store = pkcs12_file(LEAF, tmp_path / "k.p12")
    file = pem_file(LEAF, tmp_path / "k.pem")
    ca_file = tmp_path / "ca.pem"
    # Lists of authorities have their names between the certificates.
    ca_file.write_text(f"a comment\n{AUTHORITY.certificate}\n# Autorité Főtanúsítvány\n{AUTHORITY.certificate}")
    in_store = {"ssl.keystore.location": str(store), "ssl.keystore.password": STORE_PASSWORD}
    encrypted = INLINE | {"ssl.keystore.key": encrypted_key("key-secret"), "ssl.key.password": "key-secret"}
    servers = [
        INLINE,
        {key: one_line(value) for key, value in INLINE.items()},
        encrypted,
        {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(file)},
        in_store,
        in_store | {"ssl.keystore.type": "PKCS12"},
    ]
    clients = [
        AUTHORITY.trusting(),
        {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(ca_file)},
        {"ssl.truststore.location": str(store), "ssl.truststore.password": STORE_PASSWORD},
        {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": chain(LEAF)},
    ]
    for server in servers:
        assert handshake(server_context(server.get), client_context(clients[0].get)).version() == "TLSv1.3"
    for client in clients:
        handshake(server_context(INLINE.get), client_context(client.get))


@pytest.mark.parametrize(
    ("settings", "version", "cipher"),
    [
        ({"ssl.enabled.protocols": "TLSv1.2"}, "TLSv1.2", None),
        ({"ssl.enabled.protocols": "TLSv1.3"}, "TLSv1.3", None),
        (
            {"ssl.cipher.suites": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"},
            "TLSv1.2",
            "ECDHE-ECDSA-AES128-GCM-SHA256",
        ),
        (
            {"ssl.cipher.suites": "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"},
            "TLSv1.2",
            "ECDHE-ECDSA-CHACHA20-POLY1305",
        ),
        (
            {"ssl.cipher.suites": "TLS_AES_256_GCM_SHA384,TLS_AES_128_GCM_SHA256,TLS_CHACHA20_POLY1305_SHA256"},
            "TLSv1.3",
            None,
        ),
    ],
)
def test_protocols_and_suites_are_those_that_are_named(
    settings: dict[str, str], version: str, cipher: str | None
) -> None:
    made = handshake(server_context((INLINE | settings).get), client_context(AUTHORITY.trusting().get))
    assert made.version() == version
    assert cipher in {None, made.cipher()[0]}


STORE = {"ssl.keystore.location": "nowhere.p12", "ssl.keystore.password": "x"}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "SSL key store is not specified: ssl.keystore.location or ssl.keystore.key is needed"),
        ({"ssl.keystore.password": "x"}, "SSL key store is not specified, but key store password is specified."),
        ({"ssl.keystore.location": "x"}, "SSL key store is specified, but key store password is not specified."),
        (
            INLINE | {"ssl.keystore.type": "JKS"},
            "SSL private key can be specified only for PEM, but key store type is JKS.",
        ),
        (INLINE | {"ssl.keystore.certificate.chain": None}, "certificate chain is not specified."),
        (INLINE | {"ssl.keystore.key": None}, "SSL certificate chain is specified, but private key is not specified"),
        (
            INLINE | {"ssl.keystore.location": "x"},
            "Both SSL key store location and separate private key are specified.",
        ),
        (INLINE | {"ssl.keystore.password": "x"}, "SSL key store password cannot be specified with PEM format"),
        (STORE, "Failed to load SSL keystore nowhere.p12 of type JKS: No such file or directory"),
        (STORE | {"ssl.keystore.location": "a\0b"}, "Failed to load SSL keystore a\0b of type JKS: embedded null byte"),
        (STORE | {"ssl.keystore.type": "BKS"}, "ssl.keystore.type: falkirk reads PEM, PKCS12 and JKS, not BKS"),
        (INLINE | {"ssl.keystore.key": "x"}, "Invalid PEM keystore configs"),
        (INLINE | {"ssl.keystore.key": encrypted_key("a")}, "Invalid PEM keystore configs"),
        (INLINE | {"ssl.keystore.key": encrypted_key("a"), "ssl.key.password": "b"}, "Invalid PEM keystore configs"),
        (
            INLINE | having(LEAF) | {"ssl.keystore.key": having(AUTHORITY.issue())["ssl.keystore.key"]},
            "KEY_VALUES_MISMATCH",
        ),
        (
            INLINE | {"ssl.enabled.protocols": "TLSv1.1"},
            "ssl.enabled.protocols: falkirk has TLSv1.2 and TLSv1.3, not TLSv1.1",
        ),
        (INLINE | {"ssl.cipher.suites": "TLS_AES_128_GCM_SHA256"}, "all suites of TLSv1.3 or none"),
        (INLINE | {"ssl.cipher.suites": "TLS_NULL_WITH_NULL_NULL"}, "falkirk has none of TLS_NULL_WITH_NULL_NULL"),
        (INLINE | {"ssl.cipher.suites": "TLS_\0_WITH_NULL"}, "falkirk has none of TLS_"),
        (INLINE | {"ssl.cipher.suites": "FAST"}, "falkirk has no FAST"),
        (INLINE | {"ssl.client.auth": "maybe"}, "ssl.client.auth is 'maybe'"),
    ],
)
def test_what_cannot_be_is_refused_by_name(settings: dict[str, str | None], told: str) -> None:
    with pytest.raises(ClientConfigError) as refused:
        server_context(settings.get)
    assert told in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"ssl.truststore.certificates": "x"}, "SSL trust store certs can be specified only for PEM"),
        (AUTHORITY.trusting() | {"ssl.truststore.location": "x"}, "Both SSL trust store location and separate"),
        (AUTHORITY.trusting() | {"ssl.truststore.password": "x"}, "password cannot be specified for PEM format."),
        ({"ssl.truststore.password": "x"}, "SSL trust store is not specified, but trust store password is specified."),
        (AUTHORITY.trusting() | {"ssl.truststore.certificates": "x"}, "Invalid PEM keystore configs"),
    ],
)
def test_nobody_is_trusted_by_mistake(settings: dict[str, str], told: str) -> None:
    with pytest.raises(ClientConfigError, match=told):
        client_context(settings.get)


def test_a_store_with_another_password_is_refused(tmp_path: Path) -> None:
    store = pkcs12_file(LEAF, tmp_path / "k.p12")
    settings = {"ssl.keystore.location": str(store), "ssl.keystore.password": "wrong"}
    with pytest.raises(ClientConfigError, match=r"Failed to load SSL keystore .* of type JKS"):
        server_context(settings.get)


def test_the_principal_of_a_client_is_its_login_its_certificate_or_anonymous() -> None:
    authority = Authority()
    keys = having(authority.issue(common_name="alice")) | authority.trusting()
    over_tls = ClientConfig.from_properties({"security.protocol": "SSL"} | keys)
    assert over_tls.principal.startswith("User:CN=alice,")
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="bob" password="secret";'
    sasl = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": login}
    assert ClientConfig.from_properties(sasl | keys).principal == "User:bob"
    assert ClientConfig().principal == "User:ANONYMOUS"
