"""Encoded topics of Metadata responses, kept while topic and brokers stay the same: a change costs what changed.

Where topics come and go all the time no response can be kept as a whole, and encoding takes a millisecond for each
hundred topics.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.protocol.codec import encode
from falkirk.protocol.messages import MetadataResponse
from falkirk.protocol.messages.metadata_response import MetadataResponseTopic
from falkirk.protocol.varint import encode_unsigned_varint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.metadata.image.topic import Topic
    from falkirk.node.handlers.parts.broker_endpoints import BrokerEndpoints
    from falkirk.slices import Slices

PIECE_BYTES: Final = 4 * 1024 * 1024
_FLEXIBLE_SINCE: Final = 9
_BYTES_MAX: Final = 64 * 1024 * 1024
# A few listeners and versions. Holds the endpoints, too, so that no other object can have their identity.
_CACHED_MAX: Final = 8
_CACHE: Final[dict[tuple[int, str, int], tuple[BrokerEndpoints, EncodedTopics]]] = {}


class EncodedTopics:
    """Topics in one version for one set of brokers; `describe` makes a topic that is not yet encoded."""

    def __init__(self, version: int, describe: Callable[[Topic], MetadataResponseTopic]) -> None:
        self._version = version
        self._describe = describe
        self._known: dict[str, tuple[Topic, bytes]] = {}
        self._bytes = 0

    def has(self, topic: Topic) -> bool:
        """Return whether a topic is in the cache."""
        known = self._known.get(topic.name)
        return known is not None and known[0] is topic

    def encode(self, topic: Topic) -> bytes:
        """Return a topic's bytes, from the cache if the image still has the same topic."""
        known = self._known.get(topic.name)
        if known is not None and known[0] is topic:
            return known[1]
        data = encode_topic(self._describe(topic), self._version)
        self._bytes += len(data) - (0 if known is None else len(known[1]))
        if self._bytes > _BYTES_MAX:
            self._known.clear()
            self._bytes = len(data)
        self._known[topic.name] = topic, data
        return data


def encoded_topics(
    brokers: BrokerEndpoints, release: str, version: int, describe: Callable[[Topic], MetadataResponseTopic]
) -> EncodedTopics:
    """Return the cache of topics for these endpoints; `describe` is only used when it is made."""
    key = id(brokers), release, version
    cached = _CACHE.get(key)
    if cached is None:
        if len(_CACHE) >= _CACHED_MAX:
            _CACHE.clear()
        cached = _CACHE[key] = brokers, EncodedTopics(version, describe)
    return cached[1]


def encode_topic(topic: MetadataResponseTopic, version: int) -> bytes:
    """Encode one topic as part of a response."""
    layout = _layout(version)
    data = encode(MetadataResponse(topics=[topic]), version)
    return data[layout.topics_start : len(data) - layout.tail_bytes]


def encode_response(response: MetadataResponse, topics: Sequence[bytes], version: int) -> Slices[list[bytes]]:
    """Encode a response with these topics in pieces, each as large as a slice can join; `response` itself has none."""
    assert not response.topics, "topics are given as bytes"
    assert not response.unknown_tagged_fields, "we know what we answer"
    layout = _layout(version)
    data = encode(response, version)
    end = len(data) - layout.tail_bytes
    count = len(topics)
    head = data[: end - layout.count_bytes]
    written = count.to_bytes(4, "big") if layout.count_bytes == 4 else encode_unsigned_varint(count + 1)
    pieces, some, size = [head + written], list[bytes](), 0
    for topic in topics:
        some.append(topic)
        size += len(topic)
        if size >= PIECE_BYTES:
            pieces.append(b"".join(some))
            some, size = [], 0
            yield
    pieces.append(b"".join((*some, data[end:])))
    return pieces


class _Layout(NamedTuple):
    """The layout of an empty response: where topics begin, the length of their count, and the bytes behind them."""

    topics_start: int
    count_bytes: int
    tail_bytes: int


@cache
def _layout(version: int) -> _Layout:
    none = encode(MetadataResponse(), version)
    one = encode(MetadataResponse(topics=[MetadataResponseTopic()]), version)
    # The count is the first thing that differs, and its last byte does: 0 and 1, or 1 and 2 where it is a varint.
    start = next(index for index, (before, after) in enumerate(zip(none, one, strict=False)) if before != after) + 1
    return _Layout(start, 4 if version < _FLEXIBLE_SINCE else 1, len(none) - start)
