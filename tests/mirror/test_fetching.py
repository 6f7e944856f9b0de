"""What a leader may answer to who fetches its log."""

from __future__ import annotations

import asyncio

import pytest
from fake_node import FakeNode, ranges
from kraft_batches import data_batch

from falkirk.client.admin import AsyncAdmin
from falkirk.client.config import ClientConfig
from falkirk.client.connection import NodeConnection
from falkirk.client.errors import NodeRefusedError
from falkirk.mirror.errors import MirrorError
from falkirk.mirror.metadata_mirror import TOPIC, mirror_metadata
from falkirk.mirror.partition_mirror import PartitionMirror
from falkirk.mirror.topic_mirror import TopicMirrors
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
)
from falkirk.protocol.messages.describe_cluster_response import DescribeClusterBroker
from falkirk.protocol.messages.fetch_response import EpochEndOffset, FetchableTopicResponse, PartitionData, SnapshotId
from falkirk.protocol.messages.fetch_snapshot_response import PartitionSnapshot, TopicSnapshot
from falkirk.protocol.messages.fetch_snapshot_response import SnapshotId as SentSnapshot
from falkirk.protocol.messages.list_offsets_response import ListOffsetsPartitionResponse, ListOffsetsTopicResponse
from falkirk.protocol.messages.metadata_response import (
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

RANGES = ranges(api18="0-4", api1="4-17", api2="1-9", api3="10-12", api59="0-1", api60="0-1")
CLUSTER = "cluster"
EPOCH = 5
TOPIC_ID = b"t" * 16


def log(*sizes: int, start: int = 0, epoch: int = EPOCH) -> bytes:
    made, offset = b"", start
    for size in sizes:
        made += data_batch(offset, epoch, [b"value"] * size)
        offset += size
    return made


def fetched(**fields: object) -> FetchResponse:
    return FetchResponse(responses=[FetchableTopicResponse(topic=TOPIC, partitions=[PartitionData(**fields)])])  # type: ignore[arg-type]


class Quorum:
    """Answers Fetch with one answer after the other, and FetchSnapshot piece by piece."""

    def __init__(self, *answers: FetchResponse, snapshot: bytes = b"", piece: int = 10) -> None:
        self.answers = list(answers)
        self.snapshot = snapshot
        self.piece = piece
        self.fetches: list[FetchRequest] = []

    def answer(self, received):
        if received.api_key == 18:
            return None
        message = received.message()
        if isinstance(message, FetchSnapshotRequest):
            [asked] = message.topics[0].partitions
            assert (message.cluster_id, asked.current_leader_epoch) == (CLUSTER, EPOCH)
            data = self.snapshot[asked.position : asked.position + self.piece]
            part = PartitionSnapshot(
                snapshot_id=SentSnapshot(asked.snapshot_id.end_offset, asked.snapshot_id.epoch),
                size=len(self.snapshot) if self.piece else 99,
                position=asked.position,
                unaligned_records=data,
            )
            return FetchSnapshotResponse(topics=[TopicSnapshot(name=TOPIC, partitions=[part])])
        assert isinstance(message, FetchRequest)
        self.fetches.append(message)
        return self.answers.pop(0)

    def run(self, mirror: PartitionMirror) -> None:
        async def story() -> None:
            async with FakeNode(RANGES, self.answer) as node:
                connection = NodeConnection(node.endpoint, ClientConfig())
                try:
                    await mirror_metadata(connection, CLUSTER, EPOCH, mirror)
                finally:
                    await connection.close()

        asyncio.run(story())

    @property
    def asked(self) -> list[tuple[int, int]]:
        partitions = [fetch.topics[0].partitions[0] for fetch in self.fetches]
        return [(partition.fetch_offset, partition.last_fetched_epoch) for partition in partitions]


@pytest.fixture
def mirror(tmp_path):
    return PartitionMirror(tmp_path / "__cluster_metadata-0")


def test_the_log_is_fetched_up_to_what_was_committed_at_first(mirror):
    quorum = Quorum(
        fetched(high_watermark=-1),
        fetched(high_watermark=6, records=log(2, 2)),
        # It has grown meanwhile, and what is behind the high watermark may never be committed.
        fetched(high_watermark=7, records=log(2, 2, start=4)),
    )
    quorum.run(mirror)
    assert quorum.answers == []
    assert quorum.asked == [(0, 0), (0, 0), (4, EPOCH)]
    assert mirror.end_offset == 6
    assert {(fetch.cluster_id, fetch.replica_state.replica_id) for fetch in quorum.fetches} == {(CLUSTER, -1)}


def test_a_log_that_begins_with_a_snapshot_is_fetched_from_there(mirror):
    quorum = Quorum(
        fetched(high_watermark=12, snapshot_id=SnapshotId(end_offset=10, epoch=3)),
        fetched(high_watermark=12, records=log(2, start=10)),
        snapshot=b"a snapshot of 25 bytes...",
    )
    quorum.run(mirror)
    assert quorum.asked == [(0, 0), (10, 3)]
    [file] = mirror.directory.glob("*.checkpoint")
    assert (file.name, file.read_bytes()) == (f"{10:020d}-{3:010d}.checkpoint", quorum.snapshot)
    assert mirror.end_offset == 12


def test_a_snapshot_that_ends_early_is_an_error_and_no_snapshot(mirror):
    quorum = Quorum(fetched(snapshot_id=SnapshotId(end_offset=10, epoch=3)), snapshot=b"", piece=0)
    with pytest.raises(MirrorError, match="ends at 0 of 99 bytes"):
        quorum.run(mirror)
    assert PartitionMirror(mirror.directory).end_offset == 0
    assert list(mirror.directory.iterdir()) == []


def test_a_log_that_parts_from_what_was_committed_is_told_and_nothing_is_cut(mirror):
    mirror.append(log(2, 2), 4)
    quorum = Quorum(fetched(diverging_epoch=EpochEndOffset(epoch=2, end_offset=3)))
    with pytest.raises(MirrorError, match="parts from it at offset 3"):
        quorum.run(mirror)
    assert PartitionMirror(mirror.directory).end_offset == 4


def test_an_error_of_the_leader_names_it(mirror):
    with pytest.raises(NodeRefusedError, match="Fetch of __cluster_metadata: NOT_LEADER_OR_FOLLOWER"):
        Quorum(fetched(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)).run(mirror)
    with pytest.raises(NodeRefusedError, match="CLUSTER_AUTHORIZATION_FAILED"):
        Quorum(FetchResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)).run(mirror)


def test_a_quorum_that_never_says_what_is_committed_is_given_up(mirror):
    with pytest.raises(MirrorError, match="does not say what is committed"):
        Quorum(*[fetched(high_watermark=-1)] * 30).run(mirror)


# --- Topics


class Broker:
    """One partition of `t` as its leader has it: first offset, records, high watermark."""

    def __init__(self, records: bytes, *, start: int = 0, end: int, leader_id: int = 1, topic_error: int = 0) -> None:
        self.records = records
        self.start = start
        self.end = end
        self.leader_id = leader_id
        self.topic_error = topic_error
        self.topic_id = TOPIC_ID
        self.offsets: list[int] = []
        self.endpoint = None

    def answer(self, received):
        if received.api_key == 18:
            return None
        match received.message():
            case MetadataRequest():
                partition = MetadataResponsePartition(partition_index=0, leader_id=self.leader_id)
                topic = MetadataResponseTopic(self.topic_error, "t", self.topic_id, partitions=[partition])
                broker = MetadataResponseBroker(1, self.endpoint.host, self.endpoint.port)
                return MetadataResponse(brokers=[broker], topics=[topic])
            case DescribeClusterRequest():
                broker = DescribeClusterBroker(1, self.endpoint.host, self.endpoint.port)
                return DescribeClusterResponse(cluster_id=CLUSTER, controller_id=1, brokers=[broker])
            case ListOffsetsRequest():
                told = ListOffsetsPartitionResponse(partition_index=0, offset=self.start)
                return ListOffsetsResponse(topics=[ListOffsetsTopicResponse("t", [told])])
            case FetchRequest() as request:
                assert received.api_version == 12
                return self.fetched(request.topics[0].partitions[0].fetch_offset)

    def fetched(self, offset: int) -> FetchResponse:
        self.offsets.append(offset)
        partition = PartitionData(high_watermark=self.end, records=self.records)
        if not self.start <= offset <= self.end:
            partition = PartitionData(error_code=ErrorCode.OFFSET_OUT_OF_RANGE, high_watermark=-1)
        return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[partition])])


def refresh(mirrors: TopicMirrors, broker: Broker) -> None:
    async def story() -> None:
        async with FakeNode(RANGES, broker.answer) as node:
            broker.endpoint = node.endpoint
            async with AsyncAdmin([node.endpoint], ClientConfig()) as admin:
                await mirrors.refresh(admin)

    asyncio.run(story())


def offsets(tmp_path) -> list[str]:
    return sorted(path.name.lstrip("0") for path in (tmp_path / "t-0").glob("*.log"))


def test_a_log_whose_start_was_deleted_is_fetched_from_where_it_begins_now(tmp_path):
    broker = Broker(log(2, start=7), start=7, end=9)
    refresh(TopicMirrors(["t"], lambda key: PartitionMirror(tmp_path / str(key))), broker)
    assert (broker.offsets, offsets(tmp_path)) == ([0, 7], ["7.log"])


def test_records_that_were_compacted_away_at_the_end_are_not_waited_for(tmp_path):
    broker = Broker(log(2), end=9)
    refresh(TopicMirrors(["t"], lambda key: PartitionMirror(tmp_path / str(key))), broker)
    assert broker.offsets == [0, 2]


def test_a_log_that_is_shorter_than_what_was_fetched_is_fetched_anew(tmp_path):
    mirrors = TopicMirrors(["t"], lambda key: PartitionMirror(tmp_path / str(key)))
    refresh(mirrors, Broker(log(4), end=4))
    broker = Broker(log(2), end=2)
    refresh(mirrors, broker)
    assert broker.offsets == [4, 0]
    assert (tmp_path / "t-0" / f"{0:020d}.log").read_bytes() == log(2)


def test_a_topic_of_the_same_name_is_fetched_anew_by_another_run(tmp_path):
    refresh(TopicMirrors(["t"], lambda key: PartitionMirror(tmp_path / str(key))), Broker(log(4), end=4))
    broker = Broker(log(1, 4), end=5)
    broker.topic_id = b"u" * 16
    refresh(TopicMirrors(["t"], lambda key: PartitionMirror(tmp_path / str(key))), broker)
    assert broker.offsets == [0]
    assert (tmp_path / "t-0" / f"{0:020d}.log").read_bytes() == log(1, 4)


def test_a_topic_that_is_not_there_is_none(tmp_path):
    refresh(
        TopicMirrors(["t"], lambda key: PartitionMirror(tmp_path / str(key))),
        Broker(b"", end=0, topic_error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    )
    assert list(tmp_path.iterdir()) == []


def test_a_topic_that_we_may_not_read_or_nobody_leads_is_named(tmp_path):
    with pytest.raises(NodeRefusedError, match="Metadata of t: TOPIC_AUTHORIZATION_FAILED"):
        refresh(
            TopicMirrors(["t"], lambda key: PartitionMirror(tmp_path / str(key))),
            Broker(b"", end=0, topic_error=ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        )
    with pytest.raises(NodeRefusedError, match="Metadata of t-0: LEADER_NOT_AVAILABLE"):
        refresh(TopicMirrors(["t"], lambda key: PartitionMirror(tmp_path / str(key))), Broker(b"", end=0, leader_id=-1))
