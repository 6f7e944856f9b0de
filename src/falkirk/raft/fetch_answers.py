"""Fetch responses for the metadata partition, always with epoch and leader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages.fetch_response import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    SnapshotId,
)
from falkirk.raft.context import PARTITION, TOPIC, TOPIC_ID
from falkirk.raft.leader_discovery import wire_id

if TYPE_CHECKING:
    from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
    from falkirk.raft.context import RaftContext

ENDPOINTS_SINCE: Final = 17
"""The version from which Kafka sends the leader's endpoint, though the field exists one version earlier."""


def fetch_answer(
    context: RaftContext,
    api_version: int,
    *,
    error: ErrorCode = ErrorCode.NONE,
    high_watermark: int | None = None,
    records: bytes = b"",
    diverging: OffsetAndEpoch | None = None,
    snapshot: OffsetAndEpoch | None = None,
) -> FetchResponse:
    """Return an error, or records (none if there are no new ones), or where to truncate, or a snapshot to fetch."""
    quorum = context.quorum
    leader_id = wire_id(quorum.leader_id)
    partition = PartitionData(
        partition_index=PARTITION,
        error_code=error,
        high_watermark=-1 if high_watermark is None else high_watermark,
        log_start_offset=context.log.reader.start_offset,
        current_leader=LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=quorum.epoch),
        records=records,
    )
    if diverging is not None:
        partition.diverging_epoch = EpochEndOffset(epoch=diverging.epoch, end_offset=diverging.offset)
    if snapshot is not None:
        partition.snapshot_id = SnapshotId(end_offset=snapshot.offset, epoch=snapshot.epoch)
    response = FetchResponse(responses=[FetchableTopicResponse(topic=TOPIC, topic_id=TOPIC_ID, partitions=[partition])])
    if api_version >= ENDPOINTS_SINCE:
        endpoint = quorum.leader_endpoint
        if endpoint is not None:
            response.node_endpoints = [NodeEndpoint(node_id=leader_id, host=endpoint.host, port=endpoint.port)]
    return response


def refused_fetch(error: ErrorCode) -> FetchResponse:
    """Return a response with a top-level error."""
    return FetchResponse(error_code=error)
