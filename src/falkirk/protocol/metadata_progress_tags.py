"""Our tagged fields of ApiVersions: how far a node of ours is with metadata, which no API of Kafka tells.

Whoever waits for a lowered metadata.version asks for it. Kafka's nodes pass over the question, so their answer has no
such field; ours have it only where they are asked. Source: KIP-482 (tagged fields), KIP-1155.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from falkirk.protocol.schema import UnknownTaggedFields

# Of both messages, beside all fields. Kafka numbers its own tags from 0 on.
METADATA_PROGRESS_TAG: Final = 10_000
METADATA_PROGRESS_SINCE: Final = 3
"""The first version of ApiVersions that has tagged fields."""
_REQUESTED: Final = b"\x01"


class MetadataProgress(msgspec.Struct, frozen=True, kw_only=True):
    """What a node has of the metadata log on its disk, and how much of it is in its image.

    `snapshot_end_offset`, `snapshot_metadata_version` (a level): of the newest complete snapshot, None if there is
    none. `applied_offset`: the end of what is in the image. `holds_lowering`: whether the log still has a record that
    lowers metadata.version, so that it is not cleaned through the change yet.
    """

    snapshot_end_offset: int | None
    snapshot_metadata_version: int | None
    log_start_offset: int
    applied_offset: int
    holds_lowering: bool


def metadata_progress_question() -> UnknownTaggedFields:
    """Return the fields of a request that asks for it."""
    return ((METADATA_PROGRESS_TAG, _REQUESTED),)


def asks_metadata_progress(fields: UnknownTaggedFields) -> bool:
    """Return whether a request's fields ask for it; only the value 1 does."""
    return any(tag == METADATA_PROGRESS_TAG and bytes(data) == _REQUESTED for tag, data in fields)


def encode_metadata_progress(progress: MetadataProgress) -> UnknownTaggedFields:
    """Return the fields of a response: UTF-8 JSON."""
    return ((METADATA_PROGRESS_TAG, msgspec.json.encode(progress)),)


def decode_metadata_progress(fields: UnknownTaggedFields) -> MetadataProgress | None:
    """Decode it from a response; None if it is absent or malformed."""
    for tag, data in fields:
        if tag == METADATA_PROGRESS_TAG:
            try:
                return msgspec.json.decode(data, type=MetadataProgress)
            except msgspec.MsgspecError:
                return None
    return None
