"""What consumers tell each other: a version, then a message."""

from __future__ import annotations

import pytest

from falkirk.protocol.consumer_protocol import decode_embedded, encode_embedded
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import ConsumerProtocolSubscription

SUBSCRIPTION = ConsumerProtocolSubscription(("a", "b"), b"data", rack_id="r")


@pytest.mark.parametrize("version", range(4))
def test_what_is_written_is_read(version: int) -> None:
    data = encode_embedded(SUBSCRIPTION, version)
    assert data[:2] == bytes((0, version))
    read = decode_embedded(ConsumerProtocolSubscription, data)
    assert (read.topics, read.user_data) == (("a", "b"), b"data")
    assert read.rack_id == ("r" if version == 3 else None)


def test_a_newer_version_is_read_like_the_newest_and_what_follows_is_ignored() -> None:
    data = encode_embedded(SUBSCRIPTION, 3)
    assert decode_embedded(ConsumerProtocolSubscription, b"\0\7" + data[2:] + b"more") == SUBSCRIPTION


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xff\0\0\0\0", b"\0\1\0\0\0\5"])
def test_what_is_none_is_refused(data: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        decode_embedded(ConsumerProtocolSubscription, data)
