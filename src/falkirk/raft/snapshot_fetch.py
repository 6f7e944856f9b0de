"""FetchSnapshot (KIP-630): serving and fetching a snapshot's file in chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import fetch_snapshot_request, fetch_snapshot_response
from falkirk.protocol.messages.fetch_snapshot_request import FetchSnapshotRequest
from falkirk.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse, LeaderIdAndEpoch, NodeEndpoint
from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.raft.context import PARTITION, TOPIC
from falkirk.raft.leader_discovery import Outcome, handle_common, wire_id
from falkirk.raft.leader_state import Leader
from falkirk.raft.raft_log import BOOTSTRAP_SNAPSHOT
from falkirk.raft.states import Follower, SnapshotDownload
from falkirk.raft.voter_set import ReplicaKey

if TYPE_CHECKING:
    from falkirk.raft.context import RaftContext

POSITION_MAX = (1 << 31) - 1
"""Beyond this position Kafka's int overflows, and it fails."""


class SnapshotFetch:
    """Both sides of FetchSnapshot."""

    def __init__(self, context: RaftContext) -> None:
        self._context = context
        self._quorum = context.quorum
        self._log = context.log

    def receive(self, token: int, request: FetchSnapshotRequest, api_version: int, now_ms: int) -> None:
        """Reply with a chunk, as the leader."""
        if self._context.is_foreign(request.cluster_id):
            self._context.reply(token, FetchSnapshotResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID))
            return
        if len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
            self._context.reply(token, FetchSnapshotResponse(error_code=ErrorCode.INVALID_REQUEST))
            return
        topic = request.topics[0]
        requested = topic.partitions[0]
        answer = fetch_snapshot_response.PartitionSnapshot(
            index=requested.partition,
            current_leader=LeaderIdAndEpoch(leader_id=wire_id(self._quorum.leader_id), leader_epoch=self._quorum.epoch),
            unaligned_records=b"",
        )
        if topic.name != TOPIC or requested.partition != PARTITION:
            answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        else:
            self._fill(answer, requested, request.max_bytes)
            self._count_voter(ReplicaKey(request.replica_id, requested.replica_directory_id), answer.error_code, now_ms)
        response = FetchSnapshotResponse(
            topics=[fetch_snapshot_response.TopicSnapshot(name=topic.name, partitions=[answer])]
        )
        endpoint = self._quorum.leader_endpoint
        if endpoint is not None and api_version >= 1:
            leader_id = wire_id(self._quorum.leader_id)
            response.node_endpoints = [NodeEndpoint(node_id=leader_id, host=endpoint.host, port=endpoint.port)]
        self._context.reply(token, response)

    def request(self, download: SnapshotDownload) -> FetchSnapshotRequest:
        """Return the request for the next chunk."""
        snapshot, config = download.snapshot, self._context.config
        partition = fetch_snapshot_request.PartitionSnapshot(
            partition=PARTITION,
            current_leader_epoch=self._quorum.epoch,
            snapshot_id=fetch_snapshot_request.SnapshotId(end_offset=snapshot.offset, epoch=snapshot.epoch),
            position=download.position,
            replica_directory_id=config.directory_id,
        )
        return FetchSnapshotRequest(
            cluster_id=config.cluster_id,
            replica_id=config.node_id,
            max_bytes=config.snapshot_fetch_bytes_max,
            topics=[fetch_snapshot_request.TopicSnapshot(name=TOPIC, partitions=[partition])],
        )

    def handle(self, response: FetchSnapshotResponse, now_ms: int) -> Outcome:
        """Write the chunk, and install the snapshot once it is complete."""
        if response.error_code or len(response.topics) != 1 or len(response.topics[0].partitions) != 1:
            return Outcome.RETRY
        part = response.topics[0].partitions[0]
        outcome = handle_common(
            self._context,
            now_ms,
            error=part.error_code,
            leader_id=part.current_leader.leader_id,
            epoch=part.current_leader.leader_epoch,
            endpoints=response.node_endpoints,
        )
        if outcome is not None:
            return outcome
        state = self._quorum.state
        if not isinstance(state, Follower) or state.download is None or self._log.is_rewinding:
            return Outcome.RETRY
        return self._receive_chunk(state, state.download, part, now_ms)

    def _receive_chunk(
        self,
        state: Follower,
        download: SnapshotDownload,
        part: fetch_snapshot_response.PartitionSnapshot,
        now_ms: int,
    ) -> Outcome:
        snapshot = OffsetAndEpoch(part.snapshot_id.end_offset, part.snapshot_id.epoch)
        data = part.unaligned_records or b""
        is_expected = snapshot == download.snapshot and part.position == download.position
        if part.error_code or not is_expected or not data or part.position + len(data) > part.size:
            # Most often the leader has a newer snapshot by now: the next fetch names it.
            self._context.add_fact("info", "raft-snapshot-given-up", offset=snapshot.offset, error=part.error_code)
            state.download = None
            return Outcome.RETRY
        self._log.write_snapshot_chunk(snapshot, download.position, data)
        download.position += len(data)
        if download.position == part.size:
            state.download = None
            self._log.install_snapshot(snapshot)
        state.has_fetched = True
        state.fetch_deadline_ms = now_ms + self._context.config.fetch_timeout_ms
        return Outcome.DONE

    def _fill(
        self,
        answer: fetch_snapshot_response.PartitionSnapshot,
        requested: fetch_snapshot_request.PartitionSnapshot,
        bytes_max: int,
    ) -> None:
        error = self._context.leader_error(requested.current_leader_epoch)
        if error:
            answer.error_code = error
            return
        snapshot = OffsetAndEpoch(requested.snapshot_id.end_offset, requested.snapshot_id.epoch)
        bytes_max = max(0, min(bytes_max, self._context.config.fetch_bytes_max))
        position = requested.position
        # Position 0 is always valid: the log is never asked for an invalid one.
        is_readable = 0 <= position <= POSITION_MAX
        chunk = self._log.reader.read_snapshot(snapshot, position if is_readable else 0, bytes_max)
        if chunk is None or snapshot == BOOTSTRAP_SNAPSHOT:
            answer.error_code = ErrorCode.SNAPSHOT_NOT_FOUND
        elif not is_readable or position >= chunk.size:
            answer.error_code = ErrorCode.POSITION_OUT_OF_RANGE
        else:
            answer.snapshot_id = fetch_snapshot_response.SnapshotId(end_offset=snapshot.offset, epoch=snapshot.epoch)
            answer.size = chunk.size
            answer.position = position
            answer.unaligned_records = chunk.data

    def _count_voter(self, key: ReplicaKey, error_code: int, now_ms: int) -> None:
        leader = self._quorum.state
        if not error_code and isinstance(leader, Leader) and key.node_id != leader.own_key.node_id:
            leader.voter_fetched(key, now_ms, self._quorum.check_quorum_timeout_ms)
