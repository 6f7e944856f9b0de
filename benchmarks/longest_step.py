"""The longest step of nodes with a large image, in processor time: while it runs, raft and heartbeats wait.

Budget: no step takes more than 50 ms. Real nodes in this process, on disks and a network in memory and in simulated
time, play what makes a node work for long; a line for each play and role has its longest step and what that did. The
start of a node, before its first step, is not counted.

    longest_step.py [--partitions 100000] [--json] [PLAY...]
"""

import argparse
import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from random import Random

from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, MetadataImage, Provenance
from falkirk.node.config.node_config import BROKER, CONTROLLER
from falkirk.node.step import STEP_MS_MAX
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    FeatureLevelRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
    UpdateFeaturesRequest,
)
from falkirk.protocol.messages.register_broker_record import BrokerEndpoint, BrokerFeature
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.schema import WireMessage
from falkirk.storage.memory_disk import MemoryDisk
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION, FALKIRK_DOWNGRADE
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion
from falkirk.versions.release import Release
from support.line import print_step
from support.stepped_cluster import (
    CONTROLLER_ID,
    MeasuredNode,
    SteppedCluster,
    endpoint_of,
    formatted_disk,
    snapshot_bytes,
)

RELEASE = Release.parse("4.3")
BROKERS = 50
REPLICAS = 3
TOPICS_MAX = 10_000
EACH_HAS_ELR = 100
LARGE_TOPIC, LARGE_TOPIC_PARTITIONS = "large", 10_000
UNSAFE = 3
HOUR_MS = 3_600_000
NO_REPLICAS_BROKER = 999


@dataclass
class Setup:
    """The image that all plays begin with: made once, loaded by each."""

    partitions: int

    @cached_property
    def image(self) -> MetadataImage:
        delta = MetadataDelta(EMPTY)
        count = 0
        for count, record in enumerate(made_records(self.partitions), 1):  # noqa: B007 - how many there were
            delta.replay(record)
        return delta.apply(Provenance(count, 6, 0))

    @cached_property
    def snapshot(self) -> bytes:
        return snapshot_bytes(self.image)

    def disk_with_image(self, node_id: int) -> MemoryDisk:
        return formatted_disk(node_id, directory(node_id), snapshot=(self.image, self.snapshot))

    def controller(self, cluster: SteppedCluster, **settings: int) -> MeasuredNode:
        """Start a controller with the image, and wait until it is active."""
        all_settings = {"broker_session_timeout_ms": HOUR_MS, **settings}
        node = cluster.add(CONTROLLER_ID, CONTROLLER, self.disk_with_image(CONTROLLER_ID), **all_settings)
        gc.collect()
        gc.freeze()  # as a node does once it has loaded: the image is not garbage
        cluster.run_until(lambda: node.node.is_active_controller)
        return node


def activation(setup: Setup) -> None:
    cluster = SteppedCluster(RELEASE)
    show("a controller becomes active", setup.controller(cluster))


def lowering_to_39(setup: Setup) -> None:
    lower(setup, "3.9-IV0")


def lowering_to_37(setup: Setup) -> None:
    lower(setup, "3.7-IV0")


def lower(setup: Setup, level: str) -> None:
    cluster = SteppedCluster(RELEASE)
    node = setup.controller(cluster)
    cluster.forget()
    levels = {METADATA_VERSION: MetadataVersion.parse(level).level, ELIGIBLE_LEADER_REPLICAS_VERSION: 0}
    updates = [FeatureUpdateKey(name, to, upgrade_type=UNSAFE) for name, to in levels.items()]
    answer = cluster.ask(CONTROLLER_ID, CONTROLLER, UpdateFeaturesRequest(feature_updates=updates), 1)
    check(answer)
    show(f"lowering to {level}", node)


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
    disk = formatted_disk(NO_REPLICAS_BROKER, directory(NO_REPLICAS_BROKER))
    broker = cluster.add(NO_REPLICAS_BROKER, BROKER, disk)
    behind = setup.image.provenance.end_offset
    cluster.run_until(lambda: broker.node.image.provenance.end_offset >= behind)
    show("a snapshot is fetched from a controller", controller)
    show("a broker without replicas fetches and loads it", broker)


PLAYS: dict[str, Callable[[Setup], None]] = {
    "activation": activation,
    "lowering-3.9": lowering_to_39,
    "lowering-3.7": lowering_to_37,
    "snapshot-written": snapshot_written,
    "snapshot-loaded": snapshot_loaded,
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
    gc.disable()  # an image has no cycles
    _ = setup.snapshot
    gc.enable()
    for name in arguments.plays or PLAYS:
        PLAYS[name](setup)
        gc.unfreeze()
        gc.collect()


def show(what: str, node: MeasuredNode) -> None:
    longest = node.longest
    partitions = sum(len(topic.partitions) for topic in node.node.image.topics)
    print_step(f"{what}, {partitions:,} partitions", longest.seconds, work=longest.work, limit_s=STEP_MS_MAX / 1000)


def check(answer: object) -> None:
    """Raise RuntimeError if an answer is an error."""
    if getattr(answer, "error_code", 0):
        raise RuntimeError(f"{ErrorCode(answer.error_code).name}: {getattr(answer, 'error_message', '')}")


def made_records(partitions: int) -> Iterator[WireMessage]:
    """Yield the records of a cluster with about as many partitions; one topic has 10,000 of them."""
    yield FeatureLevelRecord(METADATA_VERSION, RELEASE.latest_metadata_version.level)
    yield FeatureLevelRecord(ELIGIBLE_LEADER_REPLICAS_VERSION, 1)
    supported = [BrokerFeature(name, to.lowest, to.highest) for name, to in RELEASE.supported_features().items()]
    supported.append(BrokerFeature(FALKIRK_DOWNGRADE, 0, 1))
    for broker_id in range(1, BROKERS + 1):
        endpoint = endpoint_of(broker_id, BROKER)
        yield RegisterBrokerRecord(
            broker_id=broker_id,
            incarnation_id=uuid(1, broker_id),
            broker_epoch=broker_id,
            end_points=[BrokerEndpoint("PLAINTEXT", endpoint.host, endpoint.port, 0)],
            features=supported,
            rack=None,
            fenced=False,
            log_dirs=(directory(broker_id),),
        )
    large = min(LARGE_TOPIC_PARTITIONS, partitions // 2)
    topics = min(TOPICS_MAX, (partitions - large) // 10)
    sizes = {LARGE_TOPIC: large} | {f"topic-{number}": (partitions - large) // topics for number in range(topics)}
    random = Random(1)
    for number, (name, size) in enumerate(sizes.items()):
        yield TopicRecord(name, uuid(3, number))
        for partition_id in range(size):
            replicas = tuple(random.sample(range(1, BROKERS + 1), REPLICAS))
            has_elr = partition_id % EACH_HAS_ELR == 0
            yield PartitionRecord(
                partition_id=partition_id,
                topic_id=uuid(3, number),
                replicas=replicas,
                isr=replicas[:2] if has_elr else replicas,
                leader=replicas[0],
                leader_epoch=5,
                partition_epoch=9,
                directories=tuple(directory(replica) for replica in replicas),
                eligible_leader_replicas=replicas[2:] if has_elr else None,
            )


def directory(node_id: int) -> bytes:
    return uuid(2, node_id)


def uuid(kind: int, number: int) -> bytes:
    """Return an id that is none of the reserved ones, which begin with zeros."""
    return bytes([0x4F, kind, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0]) + number.to_bytes(4, "big")


if __name__ == "__main__":
    main()
