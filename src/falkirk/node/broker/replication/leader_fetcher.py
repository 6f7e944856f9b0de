"""Fetches all partitions that one other broker leads and this one follows (Kafka's ReplicaFetcherThread).

One request at a time is in flight. Where logs diverge the response says so, and the follower truncates its log there
(KIP-595's truncation on fetch, which all metadata versions of KRaft have); a follower without leader epochs truncates
to its high watermark. If the leader does not have an offset, ListOffsets finds its log's end and start.

What a response changes only in memory and in the page cache is applied at once; what needs syncs (the first batch of a
leader epoch, a truncation) over many steps, a few partitions in each. The next request waits for it.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from falkirk.node.broker.replication.context import endpoint_of
from falkirk.node.broker.replication.fetch_offset_reset import FetchOffsetReset
from falkirk.node.broker.replication.fetch_session_handler import FetchSessionHandler, RequestedPartition
from falkirk.node.broker.replication.followed_partition import FollowedPartition
from falkirk.node.connections.outbound_connections import RequestFailure
from falkirk.node.effects import Fact
from falkirk.protocol.error_codes import ErrorCode, error_name
from falkirk.protocol.messages import FetchRequest, FetchResponse, ListOffsetsRequest, ListOffsetsResponse
from falkirk.protocol.messages.fetch_request import ReplicaState
from falkirk.protocol.topic_partition import TopicIdPartition, TopicPartition
from falkirk.storage.log.append import CorruptRecordsError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.node.broker.replication.context import ReplicationContext
    from falkirk.node.broker.replication.hosted_partition import HostedPartition
    from falkirk.node.broker.replication.replication_quotas import ReplicationQuota
    from falkirk.node.connections.outbound_connections import OutboundConnections
    from falkirk.node.sliced_work import SlicedWork, Slices
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.messages.fetch_response import PartitionData
    from falkirk.protocol.messages.list_offsets_response import ListOffsetsPartitionResponse
    from falkirk.protocol.schema import WireMessage

REQUESTED_AT_ONCE = 2_000
"""How many partitions join a fetch session, or change in it, with one request: some 5 ms."""

APPLIED_AT_ONCE = 200
"""Of how many partitions a slice appends what was fetched, without syncs: some 10 ms."""

SYNCED_AT_ONCE: Final = 2
"""How many partitions a slice syncs: two syncs for a leader epoch, up to eight for a truncation."""

_SESSION_ERRORS: Final = frozenset((ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH))


class LeaderFetcher:
    """`disk_failed` is called with partitions whose log cannot be used any more.

    `quota`: while its rate is exceeded, throttled partitions that lag are not fetched.
    """

    def __init__(
        self,
        leader_id: int,
        context: ReplicationContext,
        outbound: OutboundConnections,
        quota: ReplicationQuota,
        disk_failed: Callable[[HostedPartition, OSError], None],
    ) -> None:
        self.leader_id = leader_id
        self.partitions: dict[TopicPartition, FollowedPartition] = {}
        self._context = context
        self._outbound = outbound
        self._quota = quota
        self._disk_failed = disk_failed
        self._purpose = f"fetcher-{leader_id}"
        self._endpoint: Endpoint | None = None
        self._session = FetchSessionHandler()
        # Partitions whose state may have changed since the last request.
        self._changed: dict[TopicPartition, None] = {}
        # Partitions to remove from the session.
        self._removed: dict[TopicIdPartition, None] = {}
        self._delayed: dict[TopicPartition, None] = {}
        self._resets: dict[TopicPartition, FetchOffsetReset] = {}
        # Partitions that are not fetched because the quota is exceeded; it is measured again at this time.
        self._throttled: dict[TopicPartition, None] = {}
        self._throttled_until_ms = 0
        self._is_pending = False
        self._is_closed = False
        # True once all partitions are in `_changed`, for a leader that has no session of ours.
        self._has_begun_session = False
        # What the last response changes, as far as it needs syncs.
        self._applying: SlicedWork | None = None
        self._retry_at_ms = 0

    # --- Partitions

    def add(self, partition: HostedPartition) -> None:
        """Begin to fetch a partition at its log's end, in its current leader epoch."""
        followed = FollowedPartition.start(partition)
        self.remove(partition.topic_partition)
        self.partitions[partition.topic_partition] = followed
        self._removed.pop(partition.topic_id_partition, None)
        self._changed[partition.topic_partition] = None

    def remove(self, key: TopicPartition) -> None:
        """Stop fetching a partition."""
        followed = self.partitions.pop(key, None)
        if followed is not None:
            self._removed[followed.partition.topic_id_partition] = None
        for waiting in (self._changed, self._delayed, self._resets, self._throttled):
            waiting.pop(key, None)

    def close(self) -> None:
        """Stop fetching, and close the connection."""
        self._is_closed = True
        self.partitions.clear()
        if self._endpoint is not None:
            self._outbound.disconnect(self._purpose, self._endpoint, "nothing is fetched there", self._context.now_ms)

    # --- Periodic work

    def tick(self) -> int:
        """Send the next request, if there is anything to request; return how many partitions were looked at."""
        now_ms = self._context.now_ms
        if self._is_waiting or now_ms < self._retry_at_ms or not self._find_leader():
            return 0
        for key in [key for key in self._delayed if self.partitions[key].delayed_until_ms <= now_ms]:
            del self._delayed[key]
            self._changed[key] = None
        if now_ms < self._throttled_until_ms and not self._has_work:
            return 0
        if self._session.is_full and not self._has_begun_session:
            self._has_begun_session = True
            self._changed |= dict.fromkeys(self.partitions)
        changed = [self.partitions[key] for key in islice(self._changed, REQUESTED_AT_ONCE)]
        unsynced = [followed for followed in changed if followed.is_truncating]
        if unsynced:
            self._begin(self._truncate_without_epochs(unsynced))
        elif self._resets:
            self._request_offsets()
        else:
            self._fetch()
        return len(changed)

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the next `tick` is due; None if nothing is scheduled."""
        if self._is_waiting or self._endpoint is None:
            return None
        if self._has_work:
            return self._retry_at_ms
        times = [self.partitions[key].delayed_until_ms for key in self._delayed]
        if self._throttled:
            times.append(self._throttled_until_ms)
        return max(self._retry_at_ms, min(times)) if times else None

    @property
    def _is_waiting(self) -> bool:
        """True while a response is awaited, or not applied yet."""
        return self._is_pending or (self._applying is not None and not self._applying.is_finished)

    @property
    def _has_work(self) -> bool:
        return bool(self._changed or self._removed or self._resets or self._session.partitions)

    # --- Fetching

    def _find_leader(self) -> bool:
        endpoint = endpoint_of(self._context, self.leader_id)
        if endpoint != self._endpoint:
            if self._endpoint is not None:
                self._outbound.disconnect(self._purpose, self._endpoint, "the broker has moved", self._context.now_ms)
            self._endpoint = endpoint
        return endpoint is not None

    def _fetch(self) -> None:
        """Request some of the changed partitions; of very many, the others join the session with the next requests."""
        settings, session = self._context.settings, self._session
        self._hold_throttled()
        some = list(islice(self._changed, REQUESTED_AT_ONCE))
        gone, self._removed = self._removed, {}
        wanted: dict[TopicIdPartition, RequestedPartition | None] = dict.fromkeys(gone)
        for key in some:
            del self._changed[key]
            followed = self.partitions[key]
            wanted[followed.partition.topic_id_partition] = self._requested(followed)
        topics, forgotten = session.next_request(wanted)
        if not session.partitions and not forgotten:
            return
        version = self._context.image.features.metadata_version
        request = FetchRequest(
            replica_id=-1,
            replica_state=ReplicaState(self._context.node_id, self._context.broker_epoch),
            max_wait_ms=0 if self._changed else settings.replica_fetch_wait_max_ms,
            min_bytes=settings.replica_fetch_min_bytes,
            max_bytes=settings.replica_fetch_response_max_bytes,
            session_id=session.session_id,
            session_epoch=session.epoch,
            topics=topics,
            forgotten_topics_data=forgotten,
        )
        self._send(request, self._fetched, None if version is None else version.fetch_request_version)

    def _hold_throttled(self) -> None:
        """Choose the partitions that are not fetched now because the quota is exceeded."""
        throttled: dict[TopicPartition, None] = {}
        if self._quota.is_exceeded:
            throttled = {
                key: None
                for key, followed in self.partitions.items()
                if followed.lag != 0 and self._quota.is_throttled(key)
            }
            self._throttled_until_ms = self._context.now_ms + self._context.settings.replica_fetch_backoff_ms
        for key in throttled.keys() ^ self._throttled.keys():
            self._changed[key] = None
        self._throttled = throttled

    def _requested(self, followed: FollowedPartition) -> RequestedPartition | None:
        log = followed.partition.log
        key = followed.partition.topic_partition
        if log is None or key in self._delayed or key in self._resets or key in self._throttled:
            return None
        epoch = followed.last_fetched_epoch
        return RequestedPartition(
            fetch_offset=followed.fetch_offset,
            log_start_offset=log.log_start_offset,
            bytes_max=self._context.settings.replica_fetch_max_bytes,
            current_leader_epoch=followed.leader_epoch,
            last_fetched_epoch=-1 if epoch is None else epoch,
        )

    def _send(
        self, request: WireMessage, done: Callable[[WireMessage | RequestFailure], None], version_max: int | None
    ) -> None:
        assert self._endpoint is not None
        self._is_pending = True

        def answered(answer: WireMessage | RequestFailure) -> None:
            self._is_pending = False
            if not self._is_closed:
                done(answer)

        settings = self._context.settings
        self._outbound.send(
            self._purpose,
            self._endpoint,
            request,
            timeout_ms=settings.replica_socket_timeout_ms,
            now_ms=self._context.now_ms,
            done=answered,
            listener=settings.inter_broker_listener_name,
            version_max=version_max,
        )

    def _fetched(self, answer: WireMessage | RequestFailure) -> None:
        session = self._session
        self._has_begun_session = False
        if isinstance(answer, RequestFailure):
            session.failed()
            self._back_off(answer.reason)
            return
        assert isinstance(answer, FetchResponse), "a response to this request"
        self._retry_at_ms = self._context.now_ms + answer.throttle_time_ms
        if not session.receive_response(answer):
            if answer.error_code not in _SESSION_ERRORS:
                self._back_off(error_name(answer.error_code))
            return
        left = APPLIED_AT_ONCE
        later: list[tuple[TopicIdPartition, RequestedPartition, PartitionData]] = []
        for topic in answer.responses:
            name = self._context.image.topics.names.get(topic.topic_id, topic.topic)
            for data in topic.partitions:
                key = TopicIdPartition(topic.topic_id, name, data.partition_index)
                requested, followed = session.partitions.get(key), self.partitions.get(key.topic_partition)
                if requested is None or followed is None:
                    continue
                if left <= 0 or followed.needs_sync(data):
                    later.append((key, requested, data))
                else:
                    left -= 1
                    self._apply(key, requested, data)
        if later:
            self._begin(self._apply_slices(later))

    def _begin(self, slices: Slices) -> None:
        self._applying = self._context.works.start("apply fetched records", slices)

    def _apply_slices(self, later: Sequence[tuple[TopicIdPartition, RequestedPartition, PartitionData]]) -> Slices:
        left = APPLIED_AT_ONCE
        for key, requested, data in later:
            if self._is_closed:
                return
            followed = self.partitions.get(key.topic_partition)
            is_synced = followed is not None and followed.needs_sync(data)
            left -= APPLIED_AT_ONCE // SYNCED_AT_ONCE if is_synced else 1
            self._apply(key, requested, data)
            if left <= 0:
                yield
                left = APPLIED_AT_ONCE

    def _back_off(self, reason: str) -> None:
        self._retry_at_ms = self._context.now_ms + self._context.settings.replica_fetch_backoff_ms
        self._context.effects(Fact("info", "replica-fetch-failed", {"leader": self.leader_id, "reason": reason}))

    def _apply(self, partition: TopicIdPartition, requested: RequestedPartition, data: PartitionData) -> None:
        """Apply the result for one partition, unless the partition has changed since the request."""
        key = partition.topic_partition
        followed = self.partitions.get(key)
        if (
            followed is None
            or followed.partition.topic_id != partition.topic_id
            or followed.fetch_offset != requested.fetch_offset
            or followed.leader_epoch != requested.current_leader_epoch
            or key in self._delayed
            or key in self._resets
        ):
            return
        self._changed[key] = None
        try:
            if not data.error_code:
                if data.diverging_epoch.epoch >= 0:
                    # Other fields are of no use before the truncation, and a leader does not send its high watermark
                    # again in this session: begin a new one. Differs from Kafka, whose follower of an idle leader
                    # keeps an old high watermark.
                    self._session.failed()
                followed.apply(data)
                if self._quota.is_throttled(key):
                    self._quota.record(len(data.records or b""))
            elif data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                self._resets[key] = FetchOffsetReset(followed)
            else:
                self._refused(key, followed, data.error_code)
        except CorruptRecordsError as error:
            self._delay(key, followed, "records-do-not-fit", str(error))
        except OSError as os_error:
            self.remove(key)
            self._disk_failed(followed.partition, os_error)

    def _refused(self, key: TopicPartition, followed: FollowedPartition, error_code: int) -> None:
        if error_code == ErrorCode.FENCED_LEADER_EPOCH:
            # Our epoch is old: the next image has the new leader.
            self.remove(key)
        else:
            self._delay(key, followed, "replica-fetch-refused", error_name(error_code))

    def _delay(self, key: TopicPartition, followed: FollowedPartition, event: str, reason: str) -> None:
        now_ms = self._context.now_ms
        followed.delayed_until_ms = now_ms + self._context.settings.replica_fetch_backoff_ms
        self._delayed[key] = None
        fields = {"partition": str(key), "leader": self.leader_id, "reason": reason}
        self._context.effects(Fact("info", event, fields))

    # --- Without leader epochs

    def _truncate_without_epochs(self, unsynced: Sequence[FollowedPartition]) -> Slices:
        for number, followed in enumerate(unsynced, 1):
            key = followed.partition.topic_partition
            if not self._is_closed and self.partitions.get(key) is followed:
                try:
                    followed.truncate_to_high_watermark()
                except OSError as error:
                    self.remove(key)
                    self._disk_failed(followed.partition, error)
            if number % SYNCED_AT_ONCE == 0:
                yield

    def _request_offsets(self) -> None:
        resets = dict(self._resets)
        request = ListOffsetsRequest(
            replica_id=self._context.node_id,
            topics=FetchOffsetReset.topics(resets.values()),
        )
        version = self._context.image.features.metadata_version

        def answered(answer: WireMessage | RequestFailure) -> None:
            self._receive_offsets(resets, answer)

        self._send(request, answered, None if version is None else version.list_offsets_request_version)

    def _receive_offsets(
        self, resets: dict[TopicPartition, FetchOffsetReset], answer: WireMessage | RequestFailure
    ) -> None:
        if isinstance(answer, RequestFailure):
            self._back_off(answer.reason)
            return
        assert isinstance(answer, ListOffsetsResponse), "a response to this request"
        self._begin(self._apply_offsets(resets, answer))

    def _apply_offsets(self, resets: dict[TopicPartition, FetchOffsetReset], answer: ListOffsetsResponse) -> Slices:
        partitions = [
            (TopicPartition(topic.name, data.partition_index), data)
            for topic in answer.topics
            for data in topic.partitions
        ]
        for number, (key, data) in enumerate(partitions, 1):
            reset = resets.get(key)
            if not self._is_closed and reset is not None and self._resets.get(key) is reset:
                self._apply_offset(key, reset, data)
            if number % SYNCED_AT_ONCE == 0:
                yield

    def _apply_offset(self, key: TopicPartition, reset: FetchOffsetReset, data: ListOffsetsPartitionResponse) -> None:
        if data.error_code:
            del self._resets[key]
            self._refused(key, reset.followed, data.error_code)
            return
        followed = reset.followed
        before = followed.fetch_offset, followed.last_fetched_epoch
        try:
            if reset.apply(data.offset):
                del self._resets[key]
                self._changed[key] = None
                if (followed.fetch_offset, followed.last_fetched_epoch) == before:
                    # The leader has caught up since, or refuses it again: without its epochs it cannot compare logs.
                    self._refused(key, followed, ErrorCode.OFFSET_OUT_OF_RANGE)
        except OSError as error:
            self.remove(key)
            self._disk_failed(reset.followed.partition, error)
