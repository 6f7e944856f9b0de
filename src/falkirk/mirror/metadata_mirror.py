"""The metadata log of a running cluster, from its leader: Fetch, and FetchSnapshot where the log begins later.

Fetches as a consumer does (replica id -1), so the leader records no progress and waits for nobody. Kafka requires
CLUSTER_ACTION on CLUSTER for it. Only committed batches are written. Source: KIP-595, KIP-630.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from falkirk.client.errors import NodeRefusedError
from falkirk.mirror.errors import DivergedLogError, MirrorError
from falkirk.mirror.partition_mirror import no_pause
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import FetchRequest, FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchTopic
from falkirk.protocol.messages.fetch_snapshot_request import PartitionSnapshot, TopicSnapshot
from falkirk.protocol.messages.fetch_snapshot_request import SnapshotId as RequestedSnapshot
from falkirk.storage.snapshot_file import SnapshotId
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from falkirk.client.connection import NodeConnection
    from falkirk.protocol.messages import fetch_snapshot_response
    from falkirk.protocol.messages.fetch_response import PartitionData

_Answer = TypeVar("_Answer", "PartitionData", "fetch_snapshot_response.PartitionSnapshot")
TOPIC: Final = "__cluster_metadata"
TOPIC_ID: Final = bytes(15) + b"\x01"
# From version 13 on a topic is named by its id.
_FETCH_VERSIONS: Final = SupportedRange(13, 18)
_FETCH_BYTES: Final = 8 * 1024 * 1024
_FETCH_WAIT_MS: Final = 500
# A leader at the start of its epoch does not know the high watermark for a moment.
_UNKNOWN_MAX: Final = 20


class MetadataCopy(Protocol):
    """What committed batches and snapshots are fetched into; a PartitionMirror is one."""

    directory: Path
    end_offset: int
    last_epoch: int

    def append(self, records: bytes | memoryview, high_watermark: int) -> bool:
        """Add the whole batches that are committed and new; return whether there were any."""

    def begin_snapshot(self, snapshot: SnapshotId) -> Path:
        """Return the file that a snapshot is fetched into."""

    def install_snapshot(self, snapshot: SnapshotId) -> None:
        """Replace everything by a fetched snapshot."""


async def mirror_metadata(
    leader: NodeConnection,
    cluster_id: str,
    epoch: int,
    mirror: MetadataCopy,
    pause: Callable[[int], Awaitable[None]] = no_pause,
) -> None:
    """Fetch up to the high watermark of the first response; `pause` is called with the bytes of each.

    Raises ClientError; DivergedLogError if the leader's log is not the one that was mirrored, MirrorError.
    """
    target: int | None = None
    unknown = 0
    while target is None or mirror.end_offset < target:
        partition = await _fetch(leader, cluster_id, epoch, mirror)
        snapshot = SnapshotId(end_offset=partition.snapshot_id.end_offset, epoch=partition.snapshot_id.epoch)
        if snapshot.end_offset >= 0:
            await _fetch_snapshot(leader, cluster_id, epoch, snapshot, mirror, pause)
            continue
        if partition.diverging_epoch.end_offset >= 0:
            raise DivergedLogError(
                f"{mirror.directory}: the log of {leader.endpoint} parts from it at offset "
                f"{partition.diverging_epoch.end_offset}, below what was committed: remove the directory to start again"
            )
        if partition.high_watermark < 0:
            unknown += 1
            if unknown == _UNKNOWN_MAX:
                raise MirrorError(f"{leader.endpoint}: the quorum does not say what is committed")
            continue
        if target is None:
            target = partition.high_watermark
        records = partition.records or b""
        await pause(len(records))
        if not mirror.append(records, partition.high_watermark):
            return


async def check_fetch_allowed(node: NodeConnection, cluster_id: str) -> None:
    """Raise NodeRefusedError if this client may not fetch the metadata log from a controller, leader or not.

    The request names a snapshot that no node has, so that nothing is sent. Raises ClientError, too.
    """
    nothing = PartitionSnapshot(snapshot_id=RequestedSnapshot(end_offset=0, epoch=0))
    request = FetchSnapshotRequest(cluster_id=cluster_id, topics=[TopicSnapshot(name=TOPIC, partitions=[nothing])])
    response = await node.request(request, is_idempotent=True)
    assert isinstance(response, FetchSnapshotResponse)
    if response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        raise NodeRefusedError(node.endpoint, "FetchSnapshot", response.error_code)


async def _fetch(leader: NodeConnection, cluster_id: str, epoch: int, mirror: MetadataCopy) -> PartitionData:
    requested = FetchPartition(
        partition=0,
        current_leader_epoch=epoch,
        fetch_offset=mirror.end_offset,
        last_fetched_epoch=mirror.last_epoch,
        partition_max_bytes=_FETCH_BYTES,
    )
    request = FetchRequest(
        cluster_id=cluster_id,
        max_wait_ms=_FETCH_WAIT_MS,
        max_bytes=_FETCH_BYTES,
        topics=[FetchTopic(topic=TOPIC, topic_id=TOPIC_ID, partitions=[requested])],
    )
    response = await leader.request(request, wanted=_FETCH_VERSIONS, is_idempotent=True)
    assert isinstance(response, FetchResponse)
    partitions = [partition for topic in response.responses for partition in topic.partitions]
    return _only_partition(leader, "Fetch", response.error_code, partitions)


async def _fetch_snapshot(  # noqa: PLR0917 - what a request and its answer need
    leader: NodeConnection,
    cluster_id: str,
    epoch: int,
    snapshot: SnapshotId,
    mirror: MetadataCopy,
    pause: Callable[[int], Awaitable[None]],
) -> None:
    file = mirror.begin_snapshot(snapshot)
    with file.open("wb") as opened:
        size: int | None = None
        while size is None or opened.tell() < size:
            requested = PartitionSnapshot(
                current_leader_epoch=epoch,
                snapshot_id=RequestedSnapshot(end_offset=snapshot.end_offset, epoch=snapshot.epoch),
                position=opened.tell(),
            )
            request = FetchSnapshotRequest(
                cluster_id=cluster_id,
                max_bytes=_FETCH_BYTES,
                topics=[TopicSnapshot(name=TOPIC, partitions=[requested])],
            )
            response = await leader.request(request, is_idempotent=True)
            assert isinstance(response, FetchSnapshotResponse)
            partitions = [partition for topic in response.topics for partition in topic.partitions]
            partition = _only_partition(leader, "FetchSnapshot", response.error_code, partitions)
            size = partition.size
            records = partition.unaligned_records or b""
            await pause(len(records))
            if not opened.write(records):
                raise MirrorError(f"{leader.endpoint}: snapshot {file.stem} ends at {opened.tell()} of {size} bytes")
    mirror.install_snapshot(snapshot)


def _only_partition(leader: NodeConnection, api_name: str, error_code: int, partitions: Sequence[_Answer]) -> _Answer:
    """Return the response of the log's only partition. Raises NodeRefusedError for an error of either."""
    partition = partitions[0] if partitions else None
    error_code = error_code if partition is None else error_code or partition.error_code
    if partition is None or error_code != ErrorCode.NONE:
        raise NodeRefusedError(leader.endpoint, f"{api_name} of {TOPIC}", error_code)
    return partition
