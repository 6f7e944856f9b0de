"""A follower's fetcher against a leader whose answers are played: what it asks, and what its logs have after each."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from falkirk.metadata.image.partition import Partition as PartitionState
from falkirk.node.broker.replication import leader_fetcher, replica_fetchers
from falkirk.node.broker.replication.hosted_partition import HostedPartition
from falkirk.node.broker.replication.leader_fetcher import LeaderFetcher
from falkirk.node.broker.replication.replica_fetchers import ReplicaFetchers
from falkirk.node.broker.replication.settings import ReplicationSettings
from falkirk.node.connections.outbound_connections import RequestFailure
from falkirk.node.sliced_work import SlicedWorks
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import FetchRequest, FetchResponse, ListOffsetsRequest, ListOffsetsResponse
from falkirk.protocol.messages.fetch_response import EpochEndOffset, FetchableTopicResponse, PartitionData
from falkirk.protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsTopicResponse,
)
from falkirk.protocol.record import Record
from falkirk.protocol.schema import ZERO_UUID
from falkirk.protocol.topic_partition import TopicIdPartition
from falkirk.storage.log.log_config import LogConfig
from falkirk.storage.log.log_opening import LogOpening
from falkirk.storage.memory_disk import MemoryDisk, MemoryLogFile
from falkirk.versions.metadata_version import MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.protocol.schema import WireMessage

TOPIC_ID = b"t" * 16
A, B = TopicIdPartition(TOPIC_ID, "t", 0), TopicIdPartition(TOPIC_ID, "t", 1)
LEADER, FOLLOWER = 1, 2
LEADER_EPOCH = 5
SESSION = 77
BACKOFF_MS = 1000
SETTINGS = ReplicationSettings(
    inter_broker_listener_name="INTERNAL",
    replica_lag_time_max_ms=30_000,
    replica_fetch_max_bytes=1 << 20,
    replica_fetch_wait_max_ms=500,
    replica_fetch_min_bytes=1,
    replica_fetch_response_max_bytes=10 << 20,
    replica_fetch_backoff_ms=BACKOFF_MS,
    replica_socket_timeout_ms=30_000,
    replica_selector_class=None,
)
VERSION = MetadataVersion.parse("4.0-IV3")


def batch(base_offset: int, count: int = 1, epoch: int = LEADER_EPOCH) -> bytes:
    records = [Record(base_offset + index, 1_700_000_000_000, None, b"v") for index in range(count)]
    return build_batch(records, base_offset=base_offset, leader_epoch=epoch)


def broker_at(port: int) -> SimpleNamespace:
    points = [
        SimpleNamespace(name="PLAINTEXT", host="h", port=1),
        SimpleNamespace(name="INTERNAL", host="h", port=port),
    ]
    return SimpleNamespace(end_points=points)


class Leader:
    """Plays the leader: `asked` gives the next request, `answer` what comes back."""

    def __init__(self) -> None:
        self.sent: list[tuple[Any, Callable[[WireMessage | RequestFailure], None], dict[str, Any]]] = []
        self.disconnected: list[Endpoint] = []
        self.failed: list[HostedPartition] = []
        self.facts: list[tuple[str, str]] = []
        self.context: Any = SimpleNamespace(
            node_id=FOLLOWER,
            broker_epoch=22,
            now_ms=0,
            settings=SETTINGS,
            image=SimpleNamespace(
                cluster=SimpleNamespace(brokers={LEADER: broker_at(9092)}),
                features=SimpleNamespace(metadata_version=VERSION),
                topics=SimpleNamespace(names={TOPIC_ID: "t"}),
            ),
            works=SlicedWorks(lambda: None),
            effects=lambda fact: self.facts.append((fact.event, fact.fields["reason"])),
        )
        quota: Any = SimpleNamespace(is_exceeded=False, is_throttled=lambda _: False)
        self.fetcher = LeaderFetcher(
            LEADER,
            self.context,
            self,  # type: ignore[arg-type]
            quota,
            lambda partition, _: self.failed.append(partition),
        )

    # What a fetcher needs of OutboundConnections.

    def send(self, purpose: str, endpoint: Endpoint, message: Any, *, done: Any, **fields: Any) -> None:
        self.sent.append((message, done, {"purpose": purpose, "endpoint": endpoint, **fields}))

    def disconnect(self, purpose: str, endpoint: Endpoint, reason: str, now_ms: int) -> None:
        assert (purpose, now_ms) == ("fetcher-1", self.context.now_ms)
        assert reason
        self.disconnected.append(endpoint)

    # What tests say and see.

    def replica(
        self,
        key: TopicIdPartition,
        *batches: bytes,
        high_watermark: int = 0,
        disk: MemoryDisk | None = None,
        leader_id: int = LEADER,
    ) -> HostedPartition:
        """Have the follower fetch one more partition, whose log has these batches; of `LEADER`, by its fetcher."""
        log = LogOpening(
            disk=disk or MemoryDisk(),
            directory=f"/d0/t-{key.partition}",
            config=LogConfig(),
            topic_partition=key.topic_partition,
            topic_id=ZERO_UUID,
            recovery_point=0,
            log_start_offset=0,
            had_clean_shutdown=False,
            now_ms=0,
        ).run()
        for each in batches:
            log.append_as_follower(each)
        log.update_high_watermark(high_watermark)
        partition = HostedPartition(key, self.context, None, lambda _: None, lambda *_: None)  # type: ignore[arg-type]
        partition.make_follower(state(LEADER_EPOCH, leader_id), log)
        if leader_id == LEADER:
            self.fetcher.add(partition)
        return partition

    def asked(self) -> Any:
        """Return what is asked now; None: nothing."""
        before = len(self.sent)
        self.fetcher.tick()
        return self.sent[-1][0] if len(self.sent) > before else None

    def answer(self, answer: WireMessage | RequestFailure, *, is_applied: bool = True) -> None:
        """Answer the last request; `is_applied`: over as many steps as it takes."""
        self.sent[-1][1](answer)
        while is_applied and self.context.works.is_busy:
            self.context.works.progress()

    def fetched(self, *partitions: PartitionData, session_id: int = SESSION, **fields: Any) -> None:
        topics = [FetchableTopicResponse("", TOPIC_ID, list(partitions))] if partitions else []
        self.answer(FetchResponse(session_id=session_id, responses=topics, **fields))

    def offsets(self, offset: int = -1, *, error: int = 0) -> None:
        data = ListOffsetsPartitionResponse(partition_index=0, error_code=error, offset=offset, leader_epoch=5)
        self.answer(ListOffsetsResponse(topics=[ListOffsetsTopicResponse("t", [data])]))


def state(leader_epoch: int, leader_id: int = LEADER) -> PartitionState:
    return PartitionState((1, 2), (ZERO_UUID,) * 2, (1, 2), leader_id, leader_epoch, leader_epoch)


def told(request: FetchRequest) -> dict[int, tuple[int, int, int]]:
    """Return what a request tells of partitions: the next offset, our leader epoch, the last batch's epoch."""
    return {
        each.partition: (each.fetch_offset, each.current_leader_epoch, each.last_fetched_epoch)
        for topic in request.topics
        for each in topic.partitions
    }


def forgotten(request: FetchRequest) -> list[int]:
    return [index for topic in request.forgotten_topics_data for index in topic.partitions]


def session(request: FetchRequest) -> tuple[int, int]:
    return request.session_id, request.session_epoch


def data(partition: int = 0, **fields: Any) -> PartitionData:
    return PartitionData(**{"partition_index": partition, "high_watermark": 0, "log_start_offset": 0, **fields})


@pytest.fixture
def leader() -> Leader:
    return Leader()


# --- What is asked


def test_the_first_request_tells_where_each_log_ends_and_in_which_epoch(leader: Leader) -> None:
    leader.replica(A, batch(0, 3, epoch=2), batch(3, 2, epoch=4))
    leader.replica(B)

    request = leader.asked()

    assert told(request) == {0: (5, LEADER_EPOCH, 4), 1: (0, LEADER_EPOCH, -1)}
    assert session(request) == (0, 0)
    assert (request.replica_id, request.replica_state.replica_id, request.replica_state.replica_epoch) == (-1, 2, 22)
    assert (request.max_wait_ms, request.min_bytes, request.max_bytes) == (500, 1, 10 << 20)
    assert [(topic.topic_id, topic.partitions[0].partition_max_bytes) for topic in request.topics] == [
        (TOPIC_ID, 1 << 20)
    ]
    assert leader.sent[0][2] == {
        "purpose": "fetcher-1",
        "endpoint": Endpoint("h", 9092),
        "timeout_ms": 30_000,
        "now_ms": 0,
        "listener": "INTERNAL",
        "version_max": VERSION.fetch_request_version,
    }


def test_the_next_request_tells_only_of_logs_that_have_grown(leader: Leader) -> None:
    grown, idle = leader.replica(A), leader.replica(B, batch(0))
    leader.asked()

    leader.fetched(data(0, records=batch(0, 4), high_watermark=3, log_start_offset=1))

    assert grown.log is not None
    assert idle.log is not None
    assert (grown.log.log_end_offset, grown.log.high_watermark, grown.log.log_start_offset) == (4, 3, 1)
    assert idle.log.log_end_offset == 1
    request = leader.asked()
    assert session(request) == (SESSION, 1)
    assert told(request) == {0: (4, LEADER_EPOCH, LEADER_EPOCH)}


def test_nothing_more_is_asked_before_the_answer(leader: Leader) -> None:
    leader.replica(A)
    leader.asked()

    leader.replica(B)
    assert leader.asked() is None
    assert leader.fetcher.next_wakeup_ms is None

    leader.fetched()
    assert told(leader.asked()) == {1: (0, LEADER_EPOCH, -1)}


def test_a_leader_that_is_not_registered_is_waited_for_and_one_that_has_moved_is_followed(leader: Leader) -> None:
    leader.replica(A)
    brokers = leader.context.image.cluster.brokers
    registered = brokers.pop(LEADER)
    assert leader.asked() is None

    brokers[LEADER] = registered
    leader.asked()
    leader.fetched()
    brokers[LEADER] = broker_at(9999)

    assert leader.asked() is not None
    assert leader.disconnected == [Endpoint("h", 9092)]
    assert leader.sent[-1][2]["endpoint"] == Endpoint("h", 9999)


@pytest.fixture
def many(leader: Leader, monkeypatch: pytest.MonkeyPatch) -> Leader:
    monkeypatch.setattr(leader_fetcher, "REQUESTED_AT_ONCE", 2)
    for index in range(5):
        leader.replica(TopicIdPartition(TOPIC_ID, "t", index))
    return leader


def test_very_many_partitions_join_the_session_some_with_each_request(many: Leader) -> None:
    requests = []
    for _ in range(4):
        requests.append(many.asked())
        assert many.fetcher.next_wakeup_ms is None
        many.fetched()
    assert [list(told(request)) for request in requests] == [[0, 1], [2, 3], [4], []]
    assert [session(request) for request in requests] == [(0, 0), (SESSION, 1), (SESSION, 2), (SESSION, 3)]
    # The leader waits for records when it knows of all.
    assert [request.max_wait_ms for request in requests] == [0, 0, 500, 500]


def test_a_leader_that_keeps_no_session_is_asked_for_all_partitions_in_turn(many: Leader) -> None:
    asked = []
    for _ in range(9):
        asked.append(told(many.asked()))
        many.fetched(session_id=0)
    assert all(len(each) == 2 for each in asked)
    assert all({*asked[at], *asked[at + 1], *asked[at + 2]} == set(range(5)) for at in range(7))


def test_a_session_that_is_lost_before_all_have_joined_begins_with_all_again(many: Leader) -> None:
    many.asked()
    many.answer(RequestFailure("gone"))
    many.context.now_ms = BACKOFF_MS
    asked = []
    for _ in range(3):
        asked.append(list(told(many.asked())))
        many.fetched()
    assert sorted(index for each in asked for index in each) == list(range(5))


def test_very_many_partitions_that_all_wait_are_looked_at_once(many: Leader) -> None:
    for _ in range(3):
        request = many.asked()
        many.fetched(*(data(index, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER) for index in told(request)))
    many.answer(RequestFailure("gone")) if many.asked() else None
    many.context.now_ms = BACKOFF_MS - 1
    for _ in range(4):
        assert many.asked() is None
    assert many.fetcher.next_wakeup_ms == BACKOFF_MS


def test_requests_to_many_leaders_are_made_in_several_steps(leader: Leader, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (leader_fetcher, replica_fetchers):
        monkeypatch.setattr(module, "REQUESTED_AT_ONCE", 4)
    quota: Any = SimpleNamespace(is_exceeded=False, is_throttled=lambda _: False)
    outbound: Any = leader
    fetchers = ReplicaFetchers(leader.context, outbound, quota, lambda *_: None)
    for index in range(15):
        leader_id = 11 + index // 3
        leader.context.image.cluster.brokers[leader_id] = broker_at(leader_id)
        fetchers.follow(leader.replica(TopicIdPartition(TOPIC_ID, "t", index), leader_id=leader_id))
    sent = []
    for _ in range(4):
        fetchers.tick()
        sent.append([fields["endpoint"].port for _, _, fields in leader.sent])
        leader.sent.clear()
    assert sent == [[11, 12], [13, 14], [15], []]


# --- Errors of a partition


def test_a_fenced_epoch_is_not_asked_for_again_before_the_metadata_tells_another(leader: Leader) -> None:
    replica = leader.replica(A, batch(0, 2))
    leader.replica(B)
    leader.asked()

    leader.fetched(data(0, error_code=ErrorCode.FENCED_LEADER_EPOCH))

    leader.context.now_ms = 10 * BACKOFF_MS
    request = leader.asked()
    assert (told(request), forgotten(request)) == ({}, [0])
    assert replica.log is not None
    assert replica.log.log_end_offset == 2
    leader.fetched()
    replica.make_follower(state(LEADER_EPOCH + 1), None)
    leader.fetcher.add(replica)
    assert told(leader.asked()) == {0: (2, LEADER_EPOCH + 1, LEADER_EPOCH)}


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ],
    ids=lambda error: error.name,
)
def test_a_partition_that_is_refused_is_left_out_for_a_while_and_others_go_on(leader: Leader, error: ErrorCode) -> None:
    refused, other = leader.replica(A, batch(0, 2)), leader.replica(B)
    leader.asked()

    leader.fetched(data(0, error_code=error), data(1, records=batch(0)))

    request = leader.asked()
    assert (told(request), forgotten(request)) == ({1: (1, LEADER_EPOCH, LEADER_EPOCH)}, [0])
    assert leader.facts == [("replica-fetch-refused", error.name)]
    leader.fetched()
    leader.context.now_ms = BACKOFF_MS - 1
    assert told(leader.asked()) == {}
    leader.fetched()
    leader.context.now_ms = BACKOFF_MS
    assert told(leader.asked()) == {0: (2, LEADER_EPOCH, LEADER_EPOCH)}
    assert refused.log is not None
    assert other.log is not None
    assert (refused.log.log_end_offset, other.log.log_end_offset) == (2, 1)


@pytest.mark.parametrize(
    "records",
    [
        batch(2)[:-1] + b"\xff",
        bytes(100),
        batch(1),
        batch(2) + batch(2),
        batch(2, 2) + batch(4)[:-1] + b"\xff",
    ],
    ids=["a wrong CRC", "zeros", "what is there", "one twice", "a good one before a bad one"],
)
def test_records_that_do_not_fit_are_not_kept_and_asked_for_again_later(leader: Leader, records: bytes) -> None:
    replica = leader.replica(A, batch(0, 2))
    leader.asked()

    leader.fetched(data(0, records=records, high_watermark=9))

    assert replica.log is not None
    assert (replica.log.log_end_offset, replica.log.high_watermark) == (2, 0)
    assert [event for event, _ in leader.facts] == ["records-do-not-fit"]
    assert forgotten(leader.asked()) == [0]
    leader.fetched()
    leader.context.now_ms = BACKOFF_MS
    assert told(leader.asked()) == {0: (2, LEADER_EPOCH, LEADER_EPOCH)}


def test_records_of_a_later_epoch_than_was_asked_for_are_not_taken(leader: Leader) -> None:
    replica = leader.replica(A)
    leader.asked()

    leader.fetched(data(0, records=batch(0) + batch(1, epoch=LEADER_EPOCH + 1)))

    assert replica.log is not None
    assert replica.log.log_end_offset == 1
    assert told(leader.asked()) == {0: (1, LEADER_EPOCH, LEADER_EPOCH)}


def test_a_disk_that_fails_is_told_of_and_its_partition_not_fetched_any_more(
    leader: Leader, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = leader.replica(A)
    leader.asked()

    def fail(*_: object, **__: object) -> None:
        raise OSError(5, "broken")

    monkeypatch.setattr(MemoryLogFile, "append", fail)
    leader.fetched(data(0, records=batch(0)))

    assert leader.failed == [replica]
    request = leader.asked()
    assert (told(request), forgotten(request)) == ({}, [0])


# --- Where logs part


@pytest.mark.parametrize(
    ("diverging", "end_offset", "last_epoch"),
    [
        pytest.param((4, 7), 7, 4, id="within the last epoch that both have"),
        pytest.param((4, 20), 9, 4, id="the leader has more of that epoch: where ours ends"),
        pytest.param((2, 3), 3, 2, id="within an earlier epoch"),
        pytest.param((3, 6), 4, 2, id="an epoch that we do not have: where our earlier one ends"),
        pytest.param((1, 2), 0, None, id="an epoch before all of ours"),
        pytest.param((LEADER_EPOCH, 11), 11, LEADER_EPOCH, id="the last epoch, but the leader has less of it"),
    ],
)
def test_a_log_is_cut_where_it_parts_from_the_leaders(
    leader: Leader, diverging: tuple[int, int], end_offset: int, last_epoch: int | None
) -> None:
    # Epoch 2: 0 to 3, epoch 4: 4 to 8, epoch 5: 9 to 12.
    batches = [*(batch(each, epoch=2) for each in range(4)), *(batch(each, epoch=4) for each in range(4, 9))]
    replica = leader.replica(A, *batches, *(batch(each) for each in range(9, 13)))
    leader.asked()

    leader.fetched(data(0, diverging_epoch=EpochEndOffset(*diverging), records=batch(13), high_watermark=13))

    log = replica.log
    assert log is not None
    assert (log.log_end_offset, log.latest_epoch, log.high_watermark) == (end_offset, last_epoch, 0)
    request = leader.asked()
    assert told(request) == {0: (end_offset, LEADER_EPOCH, -1 if last_epoch is None else last_epoch)}
    # Begun anew, so that the leader tells its high watermark again.
    assert session(request) == (SESSION, 0)


def test_logs_that_part_more_than_once_are_cut_until_they_agree(leader: Leader) -> None:
    replica = leader.replica(A, batch(0, epoch=1), batch(1, epoch=2), batch(2, epoch=4))
    for diverging, asked_next in (((3, 9), (2, 2)), ((0, 1), (0, -1))):
        leader.asked()
        leader.fetched(data(0, diverging_epoch=EpochEndOffset(*diverging)))
        assert replica.log is not None
        assert (replica.log.log_end_offset, replica.log.latest_epoch or -1) == asked_next
    leader.asked()
    leader.fetched(data(0, records=batch(0, 3, epoch=3), high_watermark=3))
    assert (replica.log.log_end_offset, replica.log.latest_epoch, replica.log.high_watermark) == (3, 3, 3)


# --- Offsets that the leader does not have


def out_of_range(leader: Leader) -> None:
    leader.asked()
    leader.fetched(data(0, error_code=ErrorCode.OFFSET_OUT_OF_RANGE))


def asked_offset(leader: Leader) -> tuple[int, int]:
    """Return the timestamp and the leader epoch that are asked for: -1 is the leader's end, -2 its start."""
    request = leader.asked()
    assert isinstance(request, ListOffsetsRequest)
    assert request.replica_id == FOLLOWER
    assert leader.sent[-1][2]["version_max"] == VERSION.list_offsets_request_version
    (topic,) = request.topics
    (partition,) = topic.partitions
    assert (topic.name, partition.partition_index) == ("t", 0)
    return partition.timestamp, partition.current_leader_epoch


@pytest.mark.parametrize(
    ("level", "fetch", "list_offsets"),
    [("3.7-IV0", 15, 8), ("3.9-IV0", 17, 9), ("4.0-IV3", 17, 10), ("4.1-IV1", 18, 10)],
)
def test_each_request_is_in_the_version_of_the_level_that_is_now(
    leader: Leader, level: str, fetch: int, list_offsets: int
) -> None:
    leader.replica(A)
    assert leader.asked() is not None
    # Higher than the one before, or lower: metadata.version may go either way.
    leader.context.image.features.metadata_version = MetadataVersion.parse(level)
    leader.fetched(data(error_code=ErrorCode.OFFSET_OUT_OF_RANGE))
    assert isinstance(leader.asked(), ListOffsetsRequest)
    assert leader.sent[-1][2]["version_max"] == list_offsets
    leader.offsets(0)
    assert isinstance(leader.asked(), ListOffsetsRequest)
    leader.offsets(0)
    assert isinstance(leader.asked(), FetchRequest)
    assert leader.sent[-1][2]["version_max"] == fetch


def test_a_log_that_is_longer_than_the_leaders_is_cut_at_its_end(leader: Leader) -> None:
    replica = leader.replica(A, *(batch(each) for each in range(5)))
    out_of_range(leader)

    assert asked_offset(leader) == (-1, LEADER_EPOCH)
    leader.offsets(3)

    assert replica.log is not None
    assert replica.log.log_end_offset == 3
    assert told(leader.asked()) == {0: (3, LEADER_EPOCH, LEADER_EPOCH)}


@pytest.mark.parametrize(
    ("start", "log", "asked_next"),
    [
        pytest.param(9, (9, 9), {0: (9, LEADER_EPOCH, -1)}, id="the leader begins behind our end: begun anew there"),
        pytest.param(
            5, (5, 5), {0: (5, LEADER_EPOCH, -1)}, id="it begins at our end, and may have no epochs: begun anew"
        ),
    ],
)
def test_a_log_that_is_not_longer_begins_where_the_leaders_does(
    leader: Leader, start: int, log: tuple[int, int], asked_next: dict[int, tuple[int, int, int]]
) -> None:
    replica = leader.replica(A, *(batch(each) for each in range(5)))
    out_of_range(leader)

    assert asked_offset(leader) == (-1, LEADER_EPOCH)
    leader.offsets(12)
    assert asked_offset(leader) == (-2, LEADER_EPOCH)
    leader.offsets(start)

    assert replica.log is not None
    assert (replica.log.log_start_offset, replica.log.log_end_offset) == log
    request = leader.asked()
    assert (told(request), forgotten(request), session(request)) == (asked_next, [], (SESSION, 1))


def test_an_offset_that_the_leader_has_after_all_is_fetched_again_later(leader: Leader) -> None:
    replica = leader.replica(A, *(batch(each) for each in range(5)))
    out_of_range(leader)
    assert asked_offset(leader) == (-1, LEADER_EPOCH)
    leader.offsets(12)
    assert asked_offset(leader) == (-2, LEADER_EPOCH)
    leader.offsets(2)

    assert replica.log is not None
    assert (replica.log.log_start_offset, replica.log.log_end_offset) == (0, 5)
    assert forgotten(leader.asked()) == [0]
    leader.fetched()
    assert leader.fetcher.next_wakeup_ms == BACKOFF_MS
    leader.context.now_ms = BACKOFF_MS
    assert told(leader.asked()) == {0: (5, LEADER_EPOCH, LEADER_EPOCH)}


def test_offsets_that_are_refused_are_asked_for_after_another_fetch(leader: Leader) -> None:
    replica = leader.replica(A, batch(0, 5))
    out_of_range(leader)
    asked_offset(leader)

    leader.offsets(error=ErrorCode.NOT_LEADER_OR_FOLLOWER)

    assert isinstance(leader.asked(), FetchRequest)
    leader.fetched()
    leader.context.now_ms = BACKOFF_MS
    assert told(leader.asked()) == {0: (5, LEADER_EPOCH, LEADER_EPOCH)}
    assert replica.log is not None
    assert replica.log.log_end_offset == 5


def test_offsets_of_a_fenced_epoch_are_not_asked_for_again(leader: Leader) -> None:
    leader.replica(A, batch(0, 5))
    out_of_range(leader)
    asked_offset(leader)

    leader.offsets(error=ErrorCode.FENCED_LEADER_EPOCH)

    leader.context.now_ms = 10 * BACKOFF_MS
    assert forgotten(leader.asked()) == [0]


def test_offsets_are_asked_for_again_when_the_connection_breaks(leader: Leader) -> None:
    leader.replica(A, batch(0, 5))
    out_of_range(leader)
    asked_offset(leader)

    leader.answer(RequestFailure("gone"))

    assert leader.asked() is None
    assert leader.fetcher.next_wakeup_ms == BACKOFF_MS
    leader.context.now_ms = BACKOFF_MS
    assert asked_offset(leader) == (-1, LEADER_EPOCH)


def test_an_offset_that_comes_after_the_leader_has_changed_cuts_nothing(leader: Leader) -> None:
    replica = leader.replica(A, *(batch(each) for each in range(5)))
    out_of_range(leader)
    asked_offset(leader)
    replica.make_follower(state(LEADER_EPOCH + 1), None)
    leader.fetcher.add(replica)

    leader.offsets(1)

    assert replica.log is not None
    assert replica.log.log_end_offset == 5
    assert told(leader.asked()) == {0: (5, LEADER_EPOCH + 1, LEADER_EPOCH)}


# --- Answers as a whole


@pytest.mark.parametrize(
    ("error", "begun_anew"),
    [(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, (0, 0)), (ErrorCode.INVALID_FETCH_SESSION_EPOCH, (SESSION, 0))],
    ids=lambda each: each.name if isinstance(each, ErrorCode) else None,
)
def test_a_session_that_the_leader_does_not_have_begins_anew_at_once(
    leader: Leader, error: ErrorCode, begun_anew: tuple[int, int]
) -> None:
    replica = leader.replica(A)
    leader.replica(B)
    leader.asked()
    leader.fetched(data(0, records=batch(0)))
    leader.asked()

    leader.fetched(data(0, records=batch(1)), session_id=0, error_code=error)

    request = leader.asked()
    assert session(request) == begun_anew
    assert told(request) == {0: (1, LEADER_EPOCH, LEADER_EPOCH), 1: (0, LEADER_EPOCH, -1)}
    assert replica.log is not None
    assert replica.log.log_end_offset == 1


@pytest.mark.parametrize(
    "answer",
    [RequestFailure("gone"), FetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)],
    ids=["no answer", "an error"],
)
def test_after_a_failure_all_is_told_again_but_not_at_once(
    leader: Leader, answer: WireMessage | RequestFailure
) -> None:
    leader.replica(A, batch(0))
    leader.replica(B)
    leader.asked()
    leader.fetched()
    leader.asked()

    leader.answer(answer)

    leader.context.now_ms = BACKOFF_MS - 1
    assert leader.asked() is None
    assert leader.fetcher.next_wakeup_ms == BACKOFF_MS
    leader.context.now_ms = BACKOFF_MS
    request = leader.asked()
    assert session(request) == (SESSION, 0)
    assert told(request) == {0: (1, LEADER_EPOCH, LEADER_EPOCH), 1: (0, LEADER_EPOCH, -1)}
    assert [event for event, _ in leader.facts] == ["replica-fetch-failed"]


def test_a_failure_while_all_partitions_wait_is_waited_for_too(leader: Leader) -> None:
    leader.replica(A)
    leader.asked()
    leader.fetched(data(0, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    leader.asked()
    leader.context.now_ms = BACKOFF_MS // 2

    leader.answer(RequestFailure("gone"))

    # A time that has come and gone without anything to do would be asked for again and again.
    assert leader.fetcher.next_wakeup_ms == BACKOFF_MS * 3 // 2
    leader.context.now_ms = BACKOFF_MS * 3 // 2
    assert told(leader.asked()) == {0: (0, LEADER_EPOCH, -1)}


def test_a_leader_that_throttles_is_not_asked_before_its_time(leader: Leader) -> None:
    replica = leader.replica(A)
    leader.asked()

    leader.fetched(data(0, records=batch(0)), throttle_time_ms=300)

    assert replica.log is not None
    assert replica.log.log_end_offset == 1
    leader.context.now_ms = 299
    assert leader.asked() is None
    assert leader.fetcher.next_wakeup_ms == 300
    leader.context.now_ms = 300
    assert told(leader.asked()) == {0: (1, LEADER_EPOCH, LEADER_EPOCH)}


def test_an_answer_to_an_earlier_epoch_is_not_taken(leader: Leader) -> None:
    replica = leader.replica(A)
    leader.asked()
    replica.make_follower(state(LEADER_EPOCH + 1), None)
    leader.fetcher.add(replica)

    leader.fetched(data(0, records=batch(0)))

    assert replica.log is not None
    assert replica.log.log_end_offset == 0
    assert told(leader.asked()) == {0: (0, LEADER_EPOCH + 1, -1)}


def test_what_was_not_asked_for_is_not_taken(leader: Leader) -> None:
    replica = leader.replica(A)
    leader.asked()
    stranger = leader.replica(B)

    topics = [
        FetchableTopicResponse("", b"u" * 16, [data(0, records=batch(0))]),
        FetchableTopicResponse("", TOPIC_ID, [data(1, records=batch(0)), data(7, records=batch(0))]),
    ]
    leader.answer(FetchResponse(session_id=SESSION, responses=topics))

    assert replica.log is not None
    assert stranger.log is not None
    assert (replica.log.log_end_offset, stranger.log.log_end_offset) == (0, 0)


def test_an_answer_after_the_end_changes_nothing(leader: Leader) -> None:
    replica = leader.replica(A)
    leader.asked()

    leader.fetcher.close()
    leader.fetched(data(0, records=batch(0)))

    assert leader.disconnected == [Endpoint("h", 9092)]
    assert replica.log is not None
    assert replica.log.log_end_offset == 0


# --- Over many steps


def test_first_batches_of_an_epoch_are_written_over_many_steps_and_the_next_request_waits(leader: Leader) -> None:
    keys = [TopicIdPartition(TOPIC_ID, "t", index) for index in range(5)]
    partitions = [leader.replica(key) for key in keys]
    leader.asked()
    topics = [FetchableTopicResponse("", TOPIC_ID, [data(index, records=batch(0)) for index in range(5)])]
    leader.answer(FetchResponse(session_id=SESSION, responses=topics), is_applied=False)

    written = []
    while leader.context.works.is_busy:
        assert leader.asked() is None
        leader.context.works.progress()
        written.append(sum(partition.log is not None and partition.log.log_end_offset for partition in partitions))

    assert written == [2, 4, 5]
    assert told(leader.asked()) == dict.fromkeys(range(5), (1, LEADER_EPOCH, LEADER_EPOCH))
    # Further batches of the epoch need no sync.
    leader.fetched(data(3, records=batch(1)))
    assert not leader.context.works.is_busy
    assert told(leader.asked()) == {3: (2, LEADER_EPOCH, LEADER_EPOCH)}


def test_records_of_very_many_partitions_are_appended_over_many_steps(
    leader: Leader, monkeypatch: pytest.MonkeyPatch
) -> None:
    partitions = [leader.replica(TopicIdPartition(TOPIC_ID, "t", index)) for index in range(9)]
    leader.asked()
    leader.fetched(*(data(index, records=batch(0)) for index in range(9)))
    leader.asked()
    # Now no epoch is new, and nothing is synced.
    monkeypatch.setattr(leader_fetcher, "APPLIED_AT_ONCE", 4)
    appended = []
    topics = [FetchableTopicResponse("", TOPIC_ID, [data(index, records=batch(1)) for index in range(9)])]
    leader.answer(FetchResponse(session_id=SESSION, responses=topics), is_applied=False)
    while True:
        appended.append(
            sum(partition.log is not None and partition.log.log_end_offset == 2 for partition in partitions)
        )
        if not leader.context.works.is_busy:
            break
        assert leader.asked() is None
        leader.context.works.progress()
    assert appended[:3] == [4, 8, 9]
    assert told(leader.asked()) == dict.fromkeys(range(9), (2, LEADER_EPOCH, LEADER_EPOCH))


def test_what_is_not_written_yet_is_dropped_when_a_fetcher_is_closed(leader: Leader) -> None:
    partitions = [leader.replica(TopicIdPartition(TOPIC_ID, "t", index)) for index in range(3)]
    leader.asked()
    topics = [FetchableTopicResponse("", TOPIC_ID, [data(index, records=batch(0)) for index in range(3)])]
    leader.answer(FetchResponse(session_id=SESSION, responses=topics), is_applied=False)
    leader.fetcher.close()
    leader.context.works.progress()
    assert not leader.context.works.is_busy
    assert [partition.log is not None and partition.log.log_end_offset for partition in partitions] == [0, 0, 0]


def test_the_epochs_of_one_answer_are_written_once(leader: Leader) -> None:
    disk = MemoryDisk()
    writes = []
    write = disk.write
    disk.write = lambda path, chunks: writes.append(path) or write(path, chunks)  # type: ignore[method-assign,func-returns-value]
    leader.replica(A, disk=disk)
    leader.asked()
    leader.fetched(data(records=batch(0, epoch=2) + batch(1, epoch=3) + batch(2, epoch=5)))
    assert [path for path in writes if path.endswith("leader-epoch-checkpoint")] == ["/d0/t-0/leader-epoch-checkpoint"]
    assert told(leader.asked()) == {0: (3, LEADER_EPOCH, 5)}
