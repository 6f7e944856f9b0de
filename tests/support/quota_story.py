"""Requests of a client whose quotas are used up, for a real broker and for ours, and what comes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec
from data_plane_story import batch

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    AlterClientQuotasRequest,
    ApiVersionsRequest,
    CreateDelegationTokenRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeClientQuotasRequest,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeQuorumRequest,
    FetchRequest,
    FindCoordinatorRequest,
    ListGroupsRequest,
    ListTransactionsRequest,
    MetadataRequest,
    OffsetFetchRequest,
    ProduceRequest,
    UpdateFeaturesRequest,
)
from falkirk.protocol.messages.alter_client_quotas_request import EntityData, EntryData, OpData
from falkirk.protocol.messages.create_partitions_request import CreatePartitionsTopic
from falkirk.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig
from falkirk.protocol.messages.describe_configs_request import DescribeConfigsResource
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchTopic
from falkirk.protocol.messages.metadata_request import MetadataRequestTopic
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.protocol.schema import WireMessage

CLIENT_ID = "tester"
_ATTEMPTS = 300


class _Asker(Protocol):
    def ask(self, message: WireMessage, version: int) -> Any: ...
    def wait(self) -> None: ...


class Outcome(NamedTuple):
    """What came of a request, and for how long its client is throttled."""

    request: str
    error: str
    throttle_ms: int


class QuotaStory:
    """One client, which waits until it is no longer throttled before each request."""

    def __init__(self, asker: _Asker) -> None:
        self._asker = asker

    def outcomes(self) -> Iterator[Outcome]:
        """Play the story."""
        yield from self._mutations()
        yield from self._bytes()

    def create(self, name: str) -> None:
        """Create a topic of one partition, and wait for its leader."""
        topic = CreatableTopic(name, 1, 1, configs=[CreatableTopicConfig("retention.ms", "-1")])
        self._asker.ask(CreateTopicsRequest([topic], 30_000, validate_only=False), 7)
        self._await_leader(name)

    def _mutations(self) -> Iterator[Outcome]:
        # Eleven windows of a second hold 22 partitions.
        self._set("controller_mutation_rate", 2.0)
        for name, count, version in (("a", 24, 7), ("b", 1, 7), ("b", 4, 7), ("c", 10, 7), ("d", 3, 7), ("c", 20, 5)):
            # Records of the story are old.
            kept = [CreatableTopicConfig("retention.ms", "-1")]
            topic = CreatableTopic(name=name, num_partitions=count, replication_factor=1, configs=kept)
            answer = self._asker.ask(CreateTopicsRequest([topic], 30_000, validate_only=False), version)
            yield _outcome(f"create {name} with {count} at v{version}", answer.topics[0].error_code, answer)
        for version in (3, 2):
            more = CreatePartitionsTopic("a", 25 + 3 - version, None)
            answer = self._asker.ask(CreatePartitionsRequest([more], 30_000, validate_only=False), version)
            yield _outcome(f"add a partition at v{version}", answer.results[0].error_code, answer)
        answer = self._asker.ask(DeleteTopicsRequest(topic_names=["a"], timeout_ms=30_000), 5)
        yield _outcome("delete 26 at v5", answer.responses[0].error_code, answer)
        answer = self._asker.ask(DeleteTopicsRequest(topic_names=["d"], timeout_ms=30_000), 5)
        yield _outcome("delete 3 at v5", answer.responses[0].error_code, answer)
        self._set("controller_mutation_rate", None)

    def _bytes(self) -> Iterator[Outcome]:
        self._await_leader("b")
        self._set("producer_byte_rate", 1000.0)
        for size in (5_000, 8_000, 10):
            produce = ProduceRequest(acks=1, timeout_ms=5000, topic_data=[records("b", bytes(size))])
            answer = self._asker.ask(produce, 9)
            error = answer.responses[0].partition_responses[0].error_code
            yield _outcome(f"produce {size} bytes", error, answer)
        self._set("producer_byte_rate", None)
        self._set("consumer_byte_rate", 1000.0)
        for offset in (1, 1):
            answer = self._asker.ask(fetch_from("b", offset), 12)
            size = sum(len(one.records or b"") for topic in answer.responses for one in topic.partitions)
            yield _outcome(f"fetch from {offset}: {size // 1000} kB", answer.error_code, answer)
        self._set("consumer_byte_rate", None)

    def request_outcomes(self) -> Iterator[Outcome]:
        """Send requests of many APIs while any of them takes longer than their quota."""
        self.create("r")
        produce = ProduceRequest(acks=1, timeout_ms=5000, topic_data=[records("r", b"value")])
        assert self._asker.ask(produce, 9).responses[0].partition_responses[0].error_code == 0
        self._set("request_percentage", 0.000001)
        fetch = fetch_from("r", 0)
        follower = msgspec.structs.replace(fetch, replica_id=7)
        for name, request, version in (
            ("ApiVersions", ApiVersionsRequest("story", "1"), 3),
            ("Metadata", MetadataRequest([MetadataRequestTopic(name="r")]), 9),
            ("Produce", produce, 9),
            ("Fetch", fetch, 12),
            ("Fetch of a follower", follower, 12),
            ("FindCoordinator", FindCoordinatorRequest(coordinator_keys=["g"]), 4),
            ("ListGroups", ListGroupsRequest(), 3),
            ("OffsetFetch", OffsetFetchRequest("g", None), 5),
            ("DescribeCluster", DescribeClusterRequest(), 0),
            ("DescribeConfigs", DescribeConfigsRequest([DescribeConfigsResource(2, "r")]), 4),
            ("DescribeClientQuotas", DescribeClientQuotasRequest([], strict=False), 1),
            ("ListTransactions", ListTransactionsRequest(), 0),
            ("CreateTopics", CreateTopicsRequest([CreatableTopic("s", 1, 1)], 30_000, validate_only=False), 7),
            ("UpdateFeatures", UpdateFeaturesRequest(), 1),
            ("DescribeQuorum", DescribeQuorumRequest([]), 1),
            ("CreateDelegationToken", CreateDelegationTokenRequest(), 2),
        ):
            yield _outcome(name, 0, self._asker.ask(request, version))
        self._asker.tell(msgspec.structs.replace(produce, acks=0), 9)
        self._set("request_percentage", None)
        for name, request, version in (("Metadata", MetadataRequest([]), 9), ("Fetch", fetch, 12)):
            yield _outcome(f"{name} without a quota", 0, self._asker.ask(request, version))

    def _set(self, key: str, value: float | None) -> None:
        """Set or remove a quota, and wait until the broker has it."""
        change = OpData(key, 0.0 if value is None else value, value is None)
        entry = EntryData([EntityData("client-id", CLIENT_ID)], [change])
        assert self._asker.ask(AlterClientQuotasRequest([entry], validate_only=False), 1).entries[0].error_code == 0
        for _ in range(_ATTEMPTS):
            answer = self._asker.ask(DescribeClientQuotasRequest([], strict=False), 1)
            known = {each.key: each.value for one in answer.entries for each in one.values}
            if known.get(key) == value:
                self._asker.wait()
                return
            self._asker.wait()
        raise AssertionError(f"{key} is not {value}")

    def _await_leader(self, topic: str) -> None:
        for _ in range(_ATTEMPTS):
            answer = self._asker.ask(MetadataRequest([MetadataRequestTopic(name=topic)]), 9)
            if all(one.leader_id >= 0 for one in answer.topics[0].partitions) and answer.topics[0].partitions:
                return
            self._asker.wait()
        raise AssertionError(f"{topic} has no leader")


def records(topic: str, value: bytes) -> TopicProduceData:
    """A record for partition 0."""
    return TopicProduceData(name=topic, partition_data=[PartitionProduceData(0, batch(value))])


def fetch_from(topic: str, offset: int) -> FetchRequest:
    """A consumer's request for what is in partition 0 now."""
    partition = FetchPartition(0, fetch_offset=offset, partition_max_bytes=1 << 20)
    return FetchRequest(max_wait_ms=0, topics=[FetchTopic(topic=topic, partitions=[partition])])


def _outcome(request: str, error_code: int, answer: Any) -> Outcome:
    return Outcome(request, ErrorCode(error_code).name, getattr(answer, "throttle_time_ms", 0))
