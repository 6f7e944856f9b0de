"""Stores that real `keytool` wrote: node.jks has a key with a password of its own, trust.jks its certificate."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from falkirk.client.errors import ClientConfigError
from falkirk.client.java_key_store import JavaKeyStoreError, load_java_key_store
from falkirk.client.key_store import read_key_store, read_trust_store
from falkirk.client.tls import client_context, server_context

STORES = Path(__file__).parents[1] / "data" / "key_stores"
PASSWORD = "store-secret"  # noqa: S105 - of stores that were made for this test
NODE = {
    "ssl.keystore.location": str(STORES / "node.jks"),
    "ssl.keystore.password": PASSWORD,
    "ssl.key.password": "key-secret",
}
SAME = {"ssl.keystore.location": str(STORES / "same.jks"), "ssl.keystore.password": PASSWORD}
TRUST = {"ssl.truststore.location": str(STORES / "trust.jks"), "ssl.truststore.password": PASSWORD}


def test_a_key_of_one_store_is_trusted_by_the_other():
    async def story():
        done = asyncio.Event()

        async def serve(reader, writer):
            writer.write(await reader.read(3))
            await writer.drain()
            writer.close()
            done.set()

        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=server_context(NODE.get))
        async with server:
            port = server.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client_context(TRUST.get))
            writer.write(b"abc")
            assert await reader.read(3) == b"abc"
            assert writer.get_extra_info("ssl_object").getpeercert()["subject"][-1][0][1] == "node"
            writer.close()
            await done.wait()

    asyncio.run(story())


def test_without_a_password_of_its_own_a_key_has_that_of_its_store():
    pair = read_key_store(SAME.get)
    assert pair is not None
    assert pair.pem.startswith(b"-----BEGIN PRIVATE KEY-----")
    assert pair.pem.count(b"BEGIN CERTIFICATE") == 1


def test_a_trust_store_is_read_without_its_password_and_trusts_the_certificates_of_its_keys():
    with_password = read_trust_store(TRUST.get)
    assert with_password is not None
    assert read_trust_store({"ssl.truststore.location": TRUST["ssl.truststore.location"]}.get) == with_password
    assert read_trust_store({"ssl.truststore.location": NODE["ssl.keystore.location"]}.get) == with_password
    assert (
        ssl.PEM_cert_to_DER_cert(with_password)
        == load_java_key_store((STORES / "trust.jks").read_bytes(), PASSWORD).trusted[0]
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (NODE | {"ssl.keystore.password": "wrong"}, "Keystore was tampered with, or password was incorrect"),
        (NODE | {"ssl.key.password": "wrong"}, "Cannot recover key"),
        (NODE | {"ssl.keystore.location": str(STORES / "trust.jks")}, "it has no private key"),
        (NODE | {"ssl.keystore.type": "JCEKS"}, "ssl.keystore.type: falkirk reads PEM, PKCS12 and JKS, not JCEKS"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_store(settings, message):
    with pytest.raises(ClientConfigError, match=message) as refused:
        read_key_store(settings.get)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("name", ["node.jks", "same.jks", "trust.jks"])
def test_a_store_that_was_cut_off_anywhere_is_refused(name):
    data = (STORES / name).read_bytes()
    for length in range(0, len(data), 7):
        with pytest.raises(JavaKeyStoreError):
            load_java_key_store(data[:length], PASSWORD)
        # Without a password only the form tells.
        with pytest.raises(JavaKeyStoreError):
            load_java_key_store(data[:length], None)
