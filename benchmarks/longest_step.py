"""The longest step of nodes with a large image, in processor time: while it runs, raft and heartbeats wait.

Budget: no step takes more than 50 ms. Real nodes in this process, on disks and a network in memory and in simulated
time, play what makes a node work for long; a line for each play and role has its longest step and what that did. The
start of a node, before its first step, is not counted.

    longest_step.py [--partitions 100000] [--json] [PLAY...]
"""

import argparse
import gc
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from random import Random
from typing import Any

from falkirk.coordinator.offsets.offset_records import offset_key_bytes, offset_value_bytes
from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.metadata.image.metadata_image import MetadataImage
from falkirk.metadata.image.partition import Partition
from falkirk.node.broker.coordinator_runtime.hosted_shard import HostState
from falkirk.node.broker.group_coordinator.group_measurements import GroupMeasurements, measure_groups
from falkirk.node.broker.transaction_coordinator.transaction_measurements import (
    TransactionMeasurements,
    measure_transactions,
)
from falkirk.node.config.node_config import BROKER, CONTROLLER
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.coordinator_record import encode_key, encode_value
from falkirk.protocol.messages import (
    AlterClientQuotasRequest,
    AlterPartitionReassignmentsRequest,
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    CreateAclsRequest,
    CreateTopicsRequest,
    DeleteAclsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    FetchRequest,
    MetadataRequest,
    OffsetCommitKey,
    OffsetCommitValue,
    PartitionRecord,
    ProduceRequest,
    TopicRecord,
    TransactionLogKey,
    TransactionLogValue,
    UpdateFeaturesRequest,
)
from falkirk.protocol.messages.alter_client_quotas_request import EntityData, EntryData, OpData
from falkirk.protocol.messages.alter_partition_reassignments_request import ReassignablePartition, ReassignableTopic
from falkirk.protocol.messages.alter_partition_request import BrokerState as BrokerEpoch
from falkirk.protocol.messages.alter_partition_request import PartitionData, TopicData
from falkirk.protocol.messages.create_acls_request import AclCreation
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.protocol.messages.delete_acls_request import DeleteAclsFilter
from falkirk.protocol.messages.delete_topics_request import DeleteTopicState
from falkirk.protocol.messages.elect_leaders_request import TopicPartitions as ElectedPartitions
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchTopic
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.messages.transaction_log_value import PartitionsSchema
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.record import Record
from falkirk.slices import exhaust
from falkirk.storage.memory_disk import MemoryDisk
from falkirk.storage.partition_metadata import PartitionMetadata, format_partition_metadata
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion
from falkirk.versions.release import TRANSACTION_STATE
from support.large_image import (
    AWAY,
    BROKERS,
    LARGE_TOPIC,
    LARGE_TOPIC_PARTITIONS,
    RELEASE,
    REPLICAS,
    cluster_records,
    directory,
    image_of,
    made_image,
    uuid,
)
from support.plays import HOUR_MS, active_controller, check, print_node, start_broker
from support.stepped_cluster import (
    CONTROLLER_ID,
    LOG_DIR,
    NOW_MS,
    MeasuredNode,
    SteppedCluster,
    formatted_disk,
    snapshot_bytes,
)

UNSAFE = 3
NO_REPLICAS_BROKER = 999
FENCED_BROKER = 2
ENTRIES = 10_000
"""As many as one request may have: MAX_RECORDS_PER_USER_OP of Kafka's QuorumController."""
QUOTAS = 5_000
PRODUCED_PARTITIONS = 5_000
FETCHED_BYTES = 1_000
BATCH_RECORDS = 20
OFFSETS_PER_GROUP = 10
OFFSET_VERSION = 3
TOPIC_RESOURCE, LITERAL, READ, ALLOW, ANY = 2, 3, 3, 3, 1
PREFERRED = 0
RETENTION = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": "60000",
}


@dataclass
class Setup:
    """The image that all plays begin with: made once, loaded by each."""

    partitions: int

    @cached_property
    def image(self) -> MetadataImage:
        return made_image(self.partitions)

    @cached_property
    def snapshot(self) -> bytes:
        return snapshot_bytes(self.image)

    def controller(self, cluster: SteppedCluster, **settings: Any) -> MeasuredNode:  # Any: of NodeConfig
        """Start a controller with the image, and wait until it is active."""
        return active_controller(cluster, self.image, self.snapshot, **settings)


def activation(setup: Setup) -> None:
    show("a controller becomes active", setup.controller(SteppedCluster(RELEASE)))


def lowering_to_39(setup: Setup) -> None:
    lower(setup, "3.9-IV0")


def lowering_to_37(setup: Setup) -> None:
    lower(setup, "3.7-IV0")


def lower(setup: Setup, level: str) -> None:
    cluster = SteppedCluster(RELEASE)
    node = setup.controller(cluster)
    levels = {METADATA_VERSION: MetadataVersion.parse(level).level, ELIGIBLE_LEADER_REPLICAS_VERSION: 0}
    updates = [FeatureUpdateKey(name, to, upgrade_type=UNSAFE) for name, to in levels.items()]
    play(cluster, node, f"lowering to {level}", UpdateFeaturesRequest(feature_updates=updates), 1)


def snapshot_written(setup: Setup) -> None:
    cluster = SteppedCluster(RELEASE)
    node = setup.controller(cluster, metadata_log_max_snapshot_interval_ms=60_000)
    before = node.node.log.latest_snapshot
    cluster.forget()
    cluster.run_until(lambda: node.node.log.latest_snapshot != before)
    show("a snapshot is written", node)


def snapshot_loaded(setup: Setup) -> None:
    cluster = SteppedCluster(RELEASE)
    controller = setup.controller(cluster)
    cluster.forget()
    broker = start_broker(cluster, NO_REPLICAS_BROKER)
    show("a snapshot is fetched from a controller", controller)
    show("a broker without replicas fetches and loads it", broker)
    cluster.forget()
    cluster.ask(NO_REPLICAS_BROKER, BROKER, MetadataRequest(topics=None), 12)
    show("a broker describes all topics", broker)


def broker_fenced(setup: Setup) -> None:
    cluster = SteppedCluster(RELEASE)
    node = setup.controller(cluster)
    play(cluster, node, "a broker is fenced", heartbeat(want_fence=True), 1)
    play(cluster, node, "a broker is unfenced", heartbeat(want_fence=False), 1)


def heartbeat(*, want_fence: bool) -> BrokerHeartbeatRequest:
    return BrokerHeartbeatRequest(FENCED_BROKER, FENCED_BROKER, 10**9, want_fence=want_fence)


def sessions_expired(setup: Setup) -> None:
    cluster = SteppedCluster(RELEASE)
    node = setup.controller(cluster, broker_session_timeout_ms=9_000)
    cluster.forget()
    cluster.run_until(lambda: all(broker.fenced for broker in node.node.image.cluster.brokers.values()))
    show("the sessions of all brokers end", node)


def broker_with_replicas(setup: Setup) -> None:
    cluster = SteppedCluster(RELEASE)
    controller = setup.controller(cluster)
    cluster.forget()
    broker = start_broker(cluster, AWAY)
    replicas = list(partitions_of(setup.image, AWAY))
    show(f"a broker with {len(replicas):,} replicas starts", broker)
    show(f"a broker with {len(replicas):,} replicas registers and is unfenced", controller)
    join_isrs(cluster, controller.node.image)
    for what in ("a broker becomes leader", "a broker is leader already"):
        cluster.forget()
        elected = ElectLeadersRequest(election_type=PREFERRED, topic_partitions=preferred_by(controller.node.image))
        cluster.ask(CONTROLLER_ID, CONTROLLER, elected, 2)
        led = sum(partition.leader == AWAY for _, _, _, partition in partitions_of(controller.node.image, AWAY))
        show(f"{what} of {led:,} partitions", broker)
        show(f"{what} of {led:,} partitions: its controller", controller)


def partitions_of(image: MetadataImage, broker_id: int) -> Iterator[tuple[str, bytes, int, Partition]]:
    """Yield topic, topic id, number and state of each partition with a replica on a broker."""
    for topic in image.topics:
        for partition_id, partition in topic.items():
            if broker_id in partition.replicas:
                yield topic.name, topic.topic_id, partition_id, partition


def preferred_by(image: MetadataImage) -> list[ElectedPartitions]:
    """Return the partitions that prefer the broker that was away, as many as one request may change."""
    topics: dict[str, list[int]] = {}
    preferred = (each for each in partitions_of(image, AWAY) if each[3].replicas[0] == AWAY)
    for name, _, partition_id, _ in islice(preferred, ENTRIES):
        topics.setdefault(name, []).append(partition_id)
    return [ElectedPartitions(name, tuple(partitions)) for name, partitions in topics.items()]


def join_isrs(cluster: SteppedCluster, image: MetadataImage) -> None:
    """Let the leaders of all its partitions add the broker that was away to their ISRs."""
    epochs = {broker_id: broker.broker_epoch for broker_id, broker in image.cluster.brokers.items()}
    proposed: dict[int, dict[bytes, list[PartitionData]]] = {}
    for _, topic_id, partition_id, partition in partitions_of(image, AWAY):
        isr = [BrokerEpoch(replica, epochs[replica]) for replica in (*partition.isr, AWAY)]
        change = PartitionData(
            partition_id, partition.leader_epoch, new_isr_with_epochs=isr, partition_epoch=partition.partition_epoch
        )
        proposed.setdefault(partition.leader, {}).setdefault(topic_id, []).append(change)
    for leader, topics in proposed.items():
        changes = [TopicData(topic_id=topic_id, partitions=partitions) for topic_id, partitions in topics.items()]
        check(cluster.ask(CONTROLLER_ID, CONTROLLER, AlterPartitionRequest(leader, epochs[leader], changes), 3))


def election(setup: Setup) -> None:
    cluster = SteppedCluster(RELEASE)
    node = setup.controller(cluster)
    cluster.forget()
    # Those of the broker that is away are refused, one by one.
    cluster.ask(CONTROLLER_ID, CONTROLLER, ElectLeadersRequest(election_type=PREFERRED, topic_partitions=None), 2)
    show("preferred leaders are elected for all partitions", node)


def requests(setup: Setup) -> None:  # noqa: ARG001 - as the other plays
    """Send a broker that has 10,000 partitions of one replica requests with many of them."""
    topic_id = uuid(3, 0)
    records = [*cluster_records(range(AWAY, AWAY + 1)), TopicRecord(LARGE_TOPIC, topic_id)]
    records += (
        PartitionRecord(
            partition_id=partition_id,
            topic_id=topic_id,
            replicas=(AWAY,),
            isr=(AWAY,),
            leader=-1,
            leader_epoch=1,
            directories=(directory(AWAY),),
        )
        for partition_id in range(LARGE_TOPIC_PARTITIONS)
    )
    image = image_of(records)
    cluster = SteppedCluster(RELEASE)
    active_controller(cluster, image, snapshot_bytes(image))
    broker = start_broker(cluster, AWAY)
    print_node(f"{LARGE_TOPIC_PARTITIONS:,} partitions of one replica are made", broker)
    batch = build_batch([Record(0, NOW_MS, None, b"value")], base_offset=0, leader_epoch=-1)
    for count in (1_000, PRODUCED_PARTITIONS):
        data = [PartitionProduceData(index, batch) for index in range(count)]
        produced = ProduceRequest(acks=-1, timeout_ms=HOUR_MS, topic_data=[TopicProduceData(topic_id=topic_id)])
        produced.topic_data[0].partition_data = data
        cluster.forget()
        check(cluster.ask(AWAY, BROKER, produced, 13))
        print_node(f"produce to {count:,} partitions in one request", broker)
    partitions = [FetchPartition(index, partition_max_bytes=FETCHED_BYTES) for index in range(LARGE_TOPIC_PARTITIONS)]
    first = FetchRequest(
        max_wait_ms=1, min_bytes=0, session_epoch=0, topics=[FetchTopic(topic_id=topic_id, partitions=partitions)]
    )
    cluster.forget()
    answer = cluster.ask(AWAY, BROKER, first, 13)
    check(answer)
    print_node(f"the first fetch of a session of {LARGE_TOPIC_PARTITIONS:,} partitions", broker)
    second = FetchRequest(max_wait_ms=1, min_bytes=0, session_id=answer.session_id, session_epoch=1)
    cluster.forget()
    check(cluster.ask(AWAY, BROKER, second, 13))
    print_node("its next fetch", broker)


def topic_changes(setup: Setup) -> None:
    cluster = SteppedCluster(RELEASE)
    node = setup.controller(cluster)
    # The topic itself is a record, too.
    create = CreateTopicsRequest([CreatableTopic("new", ENTRIES - 1, REPLICAS)])
    play(cluster, node, f"a topic of {ENTRIES - 1:,} partitions is created", create, 7)
    delete = DeleteTopicsRequest(topics=[DeleteTopicState(LARGE_TOPIC)])
    play(cluster, node, f"a topic of {LARGE_TOPIC_PARTITIONS:,} partitions is deleted", delete, 6)


def reassignment(setup: Setup) -> None:
    cluster = SteppedCluster(RELEASE)
    node = setup.controller(cluster)
    others = [broker_id for broker_id in BROKERS if broker_id not in (AWAY, FENCED_BROKER)]
    random = Random(3)
    topics: dict[str, list[ReassignablePartition]] = {}
    moved = list(islice(partitions_of(setup.image, FENCED_BROKER), ENTRIES))
    for name, _, partition_id, _ in moved:
        replicas = tuple(random.sample(others, REPLICAS))
        topics.setdefault(name, []).append(ReassignablePartition(partition_id, replicas))
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(*each) for each in topics.items()])
    play(cluster, node, f"{len(moved):,} partitions are reassigned", request, 0)


def access_changes(setup: Setup) -> None:
    cluster = SteppedCluster(RELEASE)
    node = setup.controller(cluster)
    creations = [
        AclCreation(TOPIC_RESOURCE, f"topic-{number}", LITERAL, "User:u", "*", READ, ALLOW) for number in range(ENTRIES)
    ]
    play(cluster, node, f"{ENTRIES:,} ACLs are created", CreateAclsRequest(creations), 3)
    every = DeleteAclsFilter(ANY, None, ANY, None, None, ANY, ANY)
    play(cluster, node, f"{ENTRIES:,} ACLs are deleted", DeleteAclsRequest([every]), 3)
    entries = [
        EntryData([EntityData("user", f"user-{number}")], [OpData("consumer_byte_rate", 1000.0)])
        for number in range(QUOTAS)
    ]
    play(cluster, node, f"{QUOTAS:,} quotas are set", AlterClientQuotasRequest(entries), 1)


def coordinator(setup: Setup) -> None:
    """Load the offsets of groups, as many as there are partitions, and let all of them expire."""
    disk = formatted_disk(AWAY, directory(AWAY))
    write_log(disk, "__consumer_offsets", map(offset_record, range(setup.partitions)))
    cluster, broker = hosting(disk, "__consumer_offsets")
    cluster.run_until(now_and_then(lambda: measured_groups(broker).shards.get(HostState.ACTIVE, 0) == 1))
    count = measured_groups(broker).offsets
    print_node(f"{count:,} offsets of groups are loaded", broker)
    cluster.forget()
    cluster.run_until(now_and_then(lambda: not measured_groups(broker).offsets))
    print_node(f"{count:,} offsets of groups expire", broker)


def transactions(setup: Setup) -> None:
    """Load as many transactional ids, one in 100 with an open transaction, whose timeouts abort all of them at once."""
    disk = formatted_disk(AWAY, directory(AWAY))
    write_log(disk, TRANSACTION_STATE, map(transaction_record, range(setup.partitions)))
    cluster, broker = hosting(disk, TRANSACTION_STATE)
    cluster.run_until(now_and_then(lambda: measured_transactions(broker).shards.get(HostState.ACTIVE, 0) == 1))
    states = measured_transactions(broker).states
    print_node(f"{sum(states.values()):,} transactional ids are loaded", broker)
    cluster.forget()
    cluster.run_until(now_and_then(lambda: measured_transactions(broker).states[TransactionState.ONGOING] == 0))
    print_node(f"{states[TransactionState.ONGOING]:,} transactions time out", broker)


def hosting(disk: MemoryDisk, topic: str) -> tuple[SteppedCluster, MeasuredNode]:
    """Return a cluster whose only broker leads the only partition of a coordinator's topic; its log is on the disk."""
    records = [*cluster_records(range(AWAY, AWAY + 1)), TopicRecord(topic, uuid(3, 0))]
    records.append(
        PartitionRecord(
            partition_id=0,
            topic_id=uuid(3, 0),
            replicas=(AWAY,),
            isr=(AWAY,),
            leader=-1,
            leader_epoch=1,
            directories=(directory(AWAY),),
        )
    )
    image = image_of(records)
    cluster = SteppedCluster(RELEASE)
    active_controller(cluster, image, snapshot_bytes(image))
    return cluster, cluster.add(AWAY, BROKER, disk, properties=RETENTION)


def now_and_then(holds: Callable[[], bool]) -> Callable[[], bool]:
    """Look at a condition behind one event of 40: it counts all groups or ids."""
    events = itertools.count(1)
    return lambda: next(events) % 40 == 0 and holds()


def measured_transactions(broker: MeasuredNode) -> TransactionMeasurements:
    assert broker.node.broker is not None
    return exhaust(measure_transactions(broker.node.broker.transactions))


def measured_groups(broker: MeasuredNode) -> GroupMeasurements:
    assert broker.node.broker is not None
    return exhaust(measure_groups(broker.node.broker.groups))


def write_log(disk: MemoryDisk, topic: str, contents: Iterable[tuple[bytes, bytes]]) -> None:
    """Write the keys and values of a topic's only partition."""
    path = f"{LOG_DIR}/{topic}-0"
    disk.make_directory(path)
    disk.write(f"{path}/partition.metadata", [format_partition_metadata(PartitionMetadata(topic_id=uuid(3, 0)))])
    disk.write(f"{path}/leader-epoch-checkpoint", [b"0\n1\n0 0\n"])
    records = [Record(number, NOW_MS, *each) for number, each in enumerate(contents)]
    batches = (
        build_batch(records[base : base + BATCH_RECORDS], base_offset=base, leader_epoch=0)
        for base in range(0, len(records), BATCH_RECORDS)
    )
    disk.write(f"{path}/{0:020}.log", batches)


def offset_record(number: int) -> tuple[bytes, bytes]:
    key = OffsetCommitKey(f"group-{number // OFFSETS_PER_GROUP}", "read", number % OFFSETS_PER_GROUP)
    value = OffsetCommitValue(number, leader_epoch=3, metadata="", commit_timestamp=NOW_MS)
    return offset_key_bytes(key), offset_value_bytes(value, OFFSET_VERSION)


def transaction_record(number: int) -> tuple[bytes, bytes]:
    is_open = number % 100 == 0
    value = TransactionLogValue(
        producer_id=number,
        producer_epoch=0,
        transaction_timeout_ms=1_000,
        transaction_status=TransactionState.ONGOING if is_open else TransactionState.COMPLETE_COMMIT,
        transaction_partitions=[PartitionsSchema(TRANSACTION_STATE, (0,))] if is_open else [],
        transaction_last_update_timestamp_ms=NOW_MS,
        transaction_start_timestamp_ms=NOW_MS,
    )
    return encode_key(TransactionLogKey(f"application-{number:07}")), encode_value(value, 1)


PLAYS: dict[str, Callable[[Setup], None]] = {
    "activation": activation,
    "lowering-3.9": lowering_to_39,
    "lowering-3.7": lowering_to_37,
    "snapshot-written": snapshot_written,
    "snapshot-loaded": snapshot_loaded,
    "broker-fenced": broker_fenced,
    "sessions-expired": sessions_expired,
    "broker-with-replicas": broker_with_replicas,
    "election": election,
    "requests": requests,
    "topics": topic_changes,
    "reassignment": reassignment,
    "access": access_changes,
    "coordinator": coordinator,
    "transactions": transactions,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Print the longest step of each play.")
    parser.add_argument("plays", nargs="*", metavar="PLAY", help=f"all if none is named: {', '.join(PLAYS)}")
    parser.add_argument("--partitions", type=int, default=100_000)
    parser.add_argument("--json", action="store_true", help="print each line as a JSON object")
    arguments = parser.parse_args()
    unknown = set(arguments.plays) - set(PLAYS)
    if unknown:
        parser.error(f"no such play: {', '.join(sorted(unknown))}")
    setup = Setup(arguments.partitions)
    for name in arguments.plays or PLAYS:
        PLAYS[name](setup)
        gc.unfreeze()
        gc.collect()


def play(cluster: SteppedCluster, node: MeasuredNode, what: str, request: Any, version: int) -> None:  # Any: a message
    """Send a controller a request, and print the longest step until all that follows is done."""
    cluster.forget()
    check(cluster.ask(CONTROLLER_ID, CONTROLLER, request, version))
    show(what, node)


def show(what: str, node: MeasuredNode) -> None:
    print_node(f"{what}, {node.node.image.topics.partition_count:,} partitions", node)


if __name__ == "__main__":
    main()
