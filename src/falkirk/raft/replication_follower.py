"""The follower's side of replication: fetching, appending, truncating a diverging log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.protocol.error_codes import error_name
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.lowering_tags import FOLLOWS_LOWERINGS
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.protocol.record_batch import IncompleteBatchError, read_batches
from falkirk.raft.context import PARTITION, TOPIC, TOPIC_ID
from falkirk.raft.leader_discovery import Outcome, handle_common
from falkirk.raft.request_manager import Destination
from falkirk.raft.states import Follower, SnapshotDownload

if TYPE_CHECKING:
    from falkirk.protocol.messages.fetch_response import FetchResponse, PartitionData
    from falkirk.raft.context import RaftContext
    from falkirk.raft.snapshot_fetch import SnapshotFetch

_REPLICA_ID_UNTIL: Final = 14


def fit_fetch_request(request: FetchRequest, api_version: int) -> FetchRequest:
    """Return the request in the form of a version: up to 14 the replica's id is in another field.

    The driver calls it once it has negotiated the version.
    """
    if api_version <= _REPLICA_ID_UNTIL:
        request.replica_id = request.replica_state.replica_id
    return request


class ReplicationFollower:
    """Fetches from the leader or, while that is silent or unknown, from any node that may know the leader."""

    def __init__(self, context: RaftContext, snapshots: SnapshotFetch) -> None:
        self._context = context
        self._quorum = context.quorum
        self._log = context.log
        self._requests = context.requests
        self._snapshots = snapshots

    def poll_follower(self, state: Follower, now_ms: int) -> None:
        """Send the next request to the best destination."""
        if self._log.is_rewinding:
            return
        leader = self.leader_destination(state)
        if leader is None or self._requests.has_timed_out(leader, now_ms):
            if leader is not None:
                self._requests.reset(leader)
            self.fetch_from_any(now_ms)
        elif self._requests.is_backing_off(leader, now_ms):
            self.fetch_from_any(now_ms)
        elif not self._requests.has_any_in_flight(now_ms):
            request = self._fetch_request() if state.download is None else self._snapshots.request(state.download)
            self._requests.send(leader, request, now_ms)

    def fetch_from_any(self, now_ms: int) -> None:
        """Fetch from a node that may know the leader; the response names it, or has records if that node leads."""
        if self._log.is_rewinding or self._requests.has_any_in_flight(now_ms):
            return
        candidates = [to for to in self._discovery() if self._requests.is_ready(to, now_ms)]
        if candidates:
            to = candidates[self._context.random.randrange(0, len(candidates))]
            self._requests.send(to, self._fetch_request(), now_ms)

    def leader_destination(self, state: Follower) -> Destination | None:
        """Return where the leader listens for the quorum."""
        endpoint = state.listeners.get(self._quorum.listener)
        return None if endpoint is None else Destination(state.leader_id, endpoint)

    def handle_fetch(self, response: FetchResponse, now_ms: int) -> Outcome:
        """Append, truncate, or start to fetch a snapshot, as the response says."""
        if response.error_code or not _is_metadata_partition(response):
            if response.error_code:
                self._context.add_fact("error", "raft-fetch-refused", error=error_name(response.error_code))
            return Outcome.RETRY
        partition = response.responses[0].partitions[0]
        outcome = handle_common(
            self._context,
            now_ms,
            error=partition.error_code,
            leader_id=partition.current_leader.leader_id,
            epoch=partition.current_leader.leader_epoch,
            endpoints=response.node_endpoints,
        )
        if outcome is not None:
            return outcome
        state = self._quorum.state
        if not isinstance(state, Follower) or partition.error_code or self._log.is_rewinding or self._log.has_changes:
            return Outcome.RETRY
        if partition.current_leader.leader_id != state.leader_id:
            return Outcome.RETRY
        outcome = self._apply(state, partition)
        if outcome is Outcome.DONE:
            state.has_fetched = True
            state.fetch_deadline_ms = now_ms + self._context.config.fetch_timeout_ms
        return outcome

    def _apply(self, state: Follower, partition: PartitionData) -> Outcome:
        if partition.diverging_epoch.epoch >= 0:
            return self._truncate(OffsetAndEpoch(partition.diverging_epoch.end_offset, partition.diverging_epoch.epoch))
        snapshot = OffsetAndEpoch(partition.snapshot_id.end_offset, partition.snapshot_id.epoch)
        if snapshot != (-1, -1):
            return self._begin_download(state, snapshot)
        outcome = self._append(partition.records) if partition.records else Outcome.DONE
        if partition.high_watermark >= 0:
            self._log.raise_high_watermark(min(partition.high_watermark, self._log.end_offset))
        return outcome

    def _truncate(self, diverging: OffsetAndEpoch) -> Outcome:
        committed = self._log.high_watermark
        if committed is not None and self._log.end_shared_with(diverging).offset < committed:
            # Differs from Kafka, whose process ends here: what is committed stays, and an operator must find out why.
            self._context.add_fact(
                "error",
                "raft-truncation-refused",
                leader=self._quorum.leader_id,
                offset=diverging.offset,
                epoch=diverging.epoch,
                high_watermark=committed,
            )
            return Outcome.RETRY
        before = self._log.end_offset
        end_offset = self._log.truncate(diverging)
        self._context.add_fact("info", "raft-truncated", offset=end_offset, end_offset_before=before)
        return Outcome.DONE if end_offset < before else Outcome.RETRY

    def _begin_download(self, state: Follower, snapshot: OffsetAndEpoch) -> Outcome:
        end = self._log.end
        is_ahead = (snapshot.epoch, snapshot.offset) > (end.epoch, end.offset)
        if not is_ahead or snapshot.offset < (self._log.high_watermark or 0):
            # Installing it could only lose records.
            self._context.add_fact(
                "error", "raft-snapshot-not-ahead", offset=snapshot.offset, epoch=snapshot.epoch, end_offset=end.offset
            )
            return Outcome.RETRY
        self._context.add_fact("info", "raft-snapshot-fetch", offset=snapshot.offset, epoch=snapshot.epoch)
        state.download = SnapshotDownload(snapshot=snapshot)
        return Outcome.DONE

    def _append(self, records: bytes | memoryview) -> Outcome:
        """Append the whole batches that continue our log; those behind a bad one are fetched again."""
        log = self._log
        start, end, end_offset, epoch = 0, 0, log.end_offset, log.last_epoch
        reason = None
        try:
            for batch in read_batches(records):
                if batch.base_offset != end_offset or not epoch <= batch.leader_epoch <= self._quorum.epoch:
                    reason = (
                        f"batch of offset {batch.base_offset}, epoch {batch.leader_epoch} does not continue the log"
                    )
                    break
                if batch.is_control:
                    log.add_control_records(batch)
                end, end_offset, epoch = batch.end_position, batch.end_offset, batch.leader_epoch
        except IncompleteBatchError:
            pass
        except RemoteProtocolError as error:
            reason = str(error)
        if end > start:
            log.append(records[start:end], end_offset=end_offset, epoch=epoch)
        if reason is not None:
            self._context.add_fact("error", "raft-records-refused", leader=self._quorum.leader_id, reason=reason)
            return Outcome.RETRY
        return Outcome.DONE if end else Outcome.RETRY

    def _fetch_request(self) -> FetchRequest:
        config, log = self._context.config, self._log
        partition = FetchPartition(
            partition=PARTITION,
            current_leader_epoch=self._quorum.epoch,
            fetch_offset=log.end_offset,
            last_fetched_epoch=log.last_epoch,
            replica_directory_id=config.directory_id,
            high_watermark=-1 if log.high_watermark is None else log.high_watermark,
        )
        return FetchRequest(
            cluster_id=config.cluster_id,
            replica_state=ReplicaState(replica_id=config.node_id),
            max_wait_ms=config.fetch_max_wait_ms,
            max_bytes=config.fetch_bytes_max,
            topics=[FetchTopic(topic=TOPIC, topic_id=TOPIC_ID, partitions=[partition])],
            unknown_tagged_fields=FOLLOWS_LOWERINGS if config.follows_lowerings else (),
        )

    def _discovery(self) -> list[Destination]:
        """Return the nodes that may know the leader: those configured or, if there are none, the voters in the log."""
        config, own = self._context.config, set(self._quorum.own_listeners.values())
        if config.static_voters:
            voters = config.static_voters.items()
            return [Destination(node_id, endpoint) for node_id, endpoint in voters if node_id != config.node_id]
        servers = [Destination(None, endpoint) for endpoint in config.bootstrap_servers if endpoint not in own]
        if servers:
            return servers
        destinations = [self._context.voter_destination(node_id) for node_id in self._quorum.voters.ids]
        return [to for to in destinations if to is not None and to.node_id != config.node_id]


def _is_metadata_partition(response: FetchResponse) -> bool:
    if len(response.responses) != 1 or len(response.responses[0].partitions) != 1:
        return False
    return response.responses[0].partitions[0].partition_index == PARTITION
