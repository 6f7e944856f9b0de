"""SCRAM credentials in the znode of a user."""

from __future__ import annotations

import json

import pytest

from falkirk.metadata.image.scram import ScramCredential, ScramUser
from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.metadata.zookeeper.user_znode import decode_user

SHA_256 = "salt=c2FsdA==,stored_key=c3RvcmVk,server_key=c2VydmVy,iterations=4096"
READ = ScramCredential(b"salt", b"stored", b"server", 4096)


def znode(**config: object) -> bytes:
    return json.dumps(
        {"version": 1, "config": {key.replace("_", "-"): value for key, value in config.items()}}
    ).encode()


def test_credentials_are_read_by_mechanism_and_name() -> None:
    data = znode(SCRAM_SHA_256=SHA_256, SCRAM_SHA_512=SHA_256.replace("4096", "8192"), consumer="1024")
    assert decode_user(data, "/config/users/alice") == {
        ScramUser(1, "alice"): READ,
        ScramUser(2, "alice"): ScramCredential(b"salt", b"stored", b"server", 8192),
    }


def test_names_are_written_as_in_a_url() -> None:
    assert list(decode_user(znode(SCRAM_SHA_256=SHA_256), "/config/users/CN%3Da%2Fb%20c")) == [ScramUser(1, "CN=a/b c")]


def test_a_user_without_credentials_has_none() -> None:
    assert decode_user(b"", "/config/users/a") == {}
    assert decode_user(znode(), "/config/users/a") == {}


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"x", "it is not JSON"),
        (b'{"version":2,"config":{}}', "the schema version 2 is unknown"),
        (b'{"version":1}', "config is missing"),
        (znode(SCRAM_SHA_256="secret"), "config.SCRAM-SHA-256 is not salt="),
        (znode(SCRAM_SHA_256=SHA_256.replace("c2FsdA==", "secret")), "config.SCRAM-SHA-256 is not salt="),
        (znode(SCRAM_SHA_256=SHA_256 + ",more=1"), "config.SCRAM-SHA-256 is not salt="),
    ],
)
def test_what_cannot_be_meant_is_told_without_what_is_secret(data: bytes, fault: str) -> None:
    with pytest.raises(ZnodeError) as caught:
        decode_user(data, "/config/users/a")
    assert str(caught.value).startswith(f"znode /config/users/a: {fault}")
    assert "secret" not in str(caught.value)
