"""The cost of one operation for the controller of a large cluster, against the same one in a small cluster.

Budget: flat, a ratio >= 0.7 with 100,000 partitions against 1,000. An operation is the manager's decision, its records
as bytes, their replay into the controller's state, and the image that brokers and handlers then see. No network, no
disk. Turns alternate; each is the median of single operations, in processor time.
"""

import gc
import statistics
import time
from collections.abc import Iterator
from random import Random
from typing import Any

from falkirk.metadata.controller.controller import Controller
from falkirk.metadata.controller.state.controller_indexes import ControllerIndexes
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.controller.state.settings import ControllerSettings
from falkirk.metadata.image.configs import BROKER, ConfigResource
from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, MetadataImage, Provenance
from falkirk.metadata.requests.api_error import ApiError
from falkirk.protocol.messages import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    FeatureLevelRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from falkirk.protocol.messages.alter_partition_request import BrokerState, PartitionData, TopicData
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.protocol.messages.register_broker_record import BrokerEndpoint, BrokerFeature
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.protocol.schema import WireMessage
from falkirk.slices import exhaust
from falkirk.versions.release import Release
from support.line import print_line

RELEASE = Release.parse("4.3")
BROKERS = 12
REPLICAS = 3
PARTITIONS_PER_TOPIC = 10
LARGE_TOPICS, SMALL_TOPICS = 10_000, 100
TURNS = 5
OPERATIONS = 400
BUDGET = 0.7
SET = 0


class Cluster:
    """A controller, the image that it publishes, and operations on it, made distinct by their number."""

    def __init__(self, topics: int) -> None:
        self.image = made_image(topics)
        self.topic_ids = [self.image.topics.by_name[topic_name(number)].topic_id for number in range(topics)]
        settings = ControllerSettings(node_id=3000, cluster_id="falkirk-benchmark-AAAA", release=RELEASE)
        self.controller = Controller(
            settings, self.image, ControllerIndexes.of(self.image), epoch=7, random=Random(1), now_ms=0
        )
        self.random = Random(2)

    def commit(self, result: ControllerResult[Any] | ApiError) -> None:
        """Apply a decision as the active controller and as every node does."""
        assert isinstance(result, ControllerResult), result
        if not result.records:
            return
        end_offset = self.controller.state.next_offset + len(result.records)
        for record in result.records:
            encode_metadata_record(*record)
        self.controller.replay(result.records, end_offset=end_offset, now_ms=0)
        delta = MetadataDelta(self.image)
        for record, _ in result.records:
            delta.replay(record)
        self.image = delta.apply(Provenance(end_offset, 7, 0))

    def create_topic(self, number: int) -> ControllerResult[Any]:
        topic = CreatableTopic(f"new-{number}", num_partitions=1, replication_factor=REPLICAS)
        return exhaust(
            self.controller.replication.create_topics([topic], describable={topic.name}, validate_only=False)
        )

    def change_isr(self, _: int) -> ControllerResult[Any]:
        """Remove a follower from the ISR of some partition, or add it back."""
        topic_id = self.random.choice(self.topic_ids)
        index = self.random.randrange(PARTITIONS_PER_TOPIC)
        topic = self.controller.state.image.topics.topic_by_id(topic_id)
        assert topic is not None
        partition = topic.partitions[index]
        is_full = len(partition.isr) == REPLICAS
        isr = [replica for replica in partition.replicas if not is_full or replica != partition.replicas[-1]]
        change = PartitionData(
            index,
            partition.leader_epoch,
            new_isr_with_epochs=[BrokerState(replica, replica) for replica in isr],
            partition_epoch=partition.partition_epoch,
        )
        requested = TopicData(topic_id=topic_id, partitions=[change])
        request = AlterPartitionRequest(partition.leader, partition.leader, [requested])
        return exhaust(self.controller.replication.alter_partition(request, api_version=3))

    def heartbeat(self, number: int) -> ControllerResult[Any] | ApiError:
        broker_id = number % BROKERS + 1
        request = BrokerHeartbeatRequest(broker_id, broker_id, 10**9, want_fence=False)
        return self.controller.cluster.heartbeat(request, now_ms=0)

    def change_config(self, number: int) -> ControllerResult[Any]:
        changes = {ConfigResource(BROKER, "1"): {"log.segment.bytes": (SET, str(1_000_000 + number))}}
        return exhaust(self.controller.configs.incremental_alter_configs(changes))


OPERATION_NAMES = {
    "create_topic": "topic created",
    "change_isr": "ISR changed",
    "heartbeat": "heartbeat",
    "change_config": "config changed",
}


def main() -> None:
    small, large = Cluster(SMALL_TOPICS), Cluster(LARGE_TOPICS)
    gc.collect()
    gc.freeze()  # the image is not garbage
    for method, name in OPERATION_NAMES.items():
        spent: dict[int, list[float]] = {id(small): [], id(large): []}
        for turn in range(TURNS + 1):
            for cluster in (small, large):
                seconds = operation_seconds(cluster, method, first=turn * OPERATIONS)
                if turn:  # the first one warms up
                    spent[id(cluster)].append(seconds)
        against = f"falkirk with {SMALL_TOPICS * PARTITIONS_PER_TOPIC} partitions"
        partitions = LARGE_TOPICS * PARTITIONS_PER_TOPIC
        print_line(
            f"controller with {partitions} partitions, {name}",
            spent[id(large)],
            spent[id(small)],
            against=against,
            budget=BUDGET,
        )


def operation_seconds(cluster: Cluster, method: str, *, first: int) -> float:
    decide = getattr(cluster, method)
    spent = []
    for number in range(first, first + OPERATIONS):
        start = time.process_time()
        cluster.commit(decide(number))
        spent.append(time.process_time() - start)
    return statistics.median(spent)


def made_image(topics: int) -> MetadataImage:
    delta = MetadataDelta(EMPTY)
    count = 0
    for count, record in enumerate(records(topics), 1):  # noqa: B007 - how many there were is asked afterwards
        delta.replay(record)
    return delta.apply(Provenance(count, 6, 0))


def records(topics: int) -> Iterator[WireMessage]:
    yield FeatureLevelRecord("metadata.version", RELEASE.latest_metadata_version.level)
    supported = [BrokerFeature(name, to.lowest, to.highest) for name, to in RELEASE.supported_features().items()]
    for broker_id in range(1, BROKERS + 1):
        yield RegisterBrokerRecord(
            broker_id=broker_id,
            incarnation_id=uuid(1, broker_id),
            broker_epoch=broker_id,
            end_points=[BrokerEndpoint("PLAINTEXT", f"broker-{broker_id}", 9092, 0)],
            features=supported,
            rack=None,
            fenced=False,
            log_dirs=(uuid(2, broker_id),),
        )
    random = Random(1)
    for number in range(topics):
        yield TopicRecord(topic_name(number), uuid(3, number))
        for partition_id in range(PARTITIONS_PER_TOPIC):
            replicas = tuple(random.sample(range(1, BROKERS + 1), REPLICAS))
            yield PartitionRecord(
                partition_id=partition_id,
                topic_id=uuid(3, number),
                replicas=replicas,
                isr=replicas,
                leader=replicas[0],
                leader_epoch=0,
                partition_epoch=0,
                directories=tuple(uuid(2, replica) for replica in replicas),
            )


def topic_name(number: int) -> str:
    return f"topic-{number}"


def uuid(kind: int, number: int) -> bytes:
    """Return an id that is none of the reserved ones, which begin with zeros."""
    return bytes([0x4F, kind, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0]) + number.to_bytes(4, "big")


if __name__ == "__main__":
    main()
