"""Our tagged field of Fetch: a replica of the metadata log that can apply a record which lowers metadata.version.

Kafka's leaders ignore it, and Kafka's replicas do not send it. Source: KIP-482 (tagged fields), KIP-1155.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from falkirk.protocol.schema import UnknownTaggedFields

# Beside all fields of the request. Kafka numbers its own tags from 0 on.
FOLLOWS_LOWERINGS_TAG: Final = 10_001
FOLLOWS_LOWERINGS: Final[UnknownTaggedFields] = ((FOLLOWS_LOWERINGS_TAG, b"\x01"),)
"""The fields of a request by such a replica."""


def shows_follows_lowerings(fields: UnknownTaggedFields) -> bool:
    """Return whether a request's fields have it; only the value 1 counts."""
    return any(tag == FOLLOWS_LOWERINGS_TAG and bytes(data) == b"\x01" for tag, data in fields)
