"""The topics that the members of a classic group of consumers read, as far as their metadata says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.protocol import codec
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import ConsumerProtocolSubscription

if TYPE_CHECKING:
    from collections.abc import Iterable


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """Give the topics of all subscriptions (an int16 version, then ConsumerProtocolSubscription); None if one is bad.

    Every version begins like version 0, and is read as that.
    """
    topics: set[str] = set()
    try:
        for subscription in subscriptions:
            message, _ = codec.decode_prefix(ConsumerProtocolSubscription, 0, subscription, _VERSION_BYTES)
            topics.update(message.topics)
    except RemoteProtocolError:
        return None
    return frozenset(topics)


_VERSION_BYTES = 2
