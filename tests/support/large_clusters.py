"""Three controllers with the metadata of a large cluster, loaded from snapshots; its brokers are away."""

from functools import cache

from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, MetadataImage, Provenance
from falkirk.protocol.messages import FeatureLevelRecord, PartitionRecord, RegisterBrokerRecord, TopicRecord
from falkirk.protocol.messages.register_broker_record import BrokerFeature
from falkirk.simulation.plans.fault_plan import FaultPlan
from falkirk.simulation.plans.rehearsed_cluster import RehearsedCluster, RehearsedNode
from falkirk.simulation.plans.scenario import Scenario
from falkirk.versions.metadata_version import METADATA_VERSION
from falkirk.versions.release import Release

RELEASE = Release.parse("4.3")
TOPICS, PARTITIONS = 45, 1_000
# Where a run has to be short: work that is not sliced is found by a limit just above what slices take.
FEW_TOPICS, FEW_STEP_MS_MAX = 3, 15
CONTROLLERS = (1, 2, 3)
ABSENT_BROKERS = (101, 102, 103)
MIB = 1024 * 1024


def with_large_metadata(topics: int = TOPICS) -> Scenario:
    """Topics of 1,000 partitions; controllers crash, so that others become active, and write snapshots."""
    nodes = [
        RehearsedNode(
            node_id=node_id,
            release=RELEASE,
            is_controller=True,
            is_broker=False,
            directory_ids=(directory(node_id),),
        )
        for node_id in CONTROLLERS
    ]
    return Scenario(
        releases=(RELEASE,) * len(CONTROLLERS),
        metadata_version=RELEASE.latest_metadata_version,
        has_dynamic_voters=False,
        spare_count=0,
        joins_itself=False,
        broker_count=0,
        node_releases=(),
        administrator_count=1,
        faults=FaultPlan(kinds=frozenset({"crashes"}), interval_ms=3000),
        faults_ms=8_000,
        snapshot_bytes=2_000,
        segment_bytes=MIB,
        rehearsed=RehearsedCluster(image=made_image(topics), nodes=tuple(nodes), has_dynamic_voters=False),
    )


@cache
def made_image(topics: int) -> MetadataImage:
    """All partitions are without a leader: their brokers are fenced."""
    supported = [BrokerFeature(name, to.lowest, to.highest) for name, to in RELEASE.supported_features().items()]
    records = [FeatureLevelRecord(METADATA_VERSION, RELEASE.latest_metadata_version.level)]
    records += [
        RegisterBrokerRecord(
            broker_id=broker_id,
            broker_epoch=broker_id,
            fenced=True,
            features=supported,
            log_dirs=(directory(broker_id),),
        )
        for broker_id in ABSENT_BROKERS
    ]
    for number in range(topics):
        topic_id = (1 << 64 | number).to_bytes(16, "big")
        records.append(TopicRecord(f"large-{number}", topic_id))
        records += [
            PartitionRecord(
                partition_id=partition_id,
                topic_id=topic_id,
                replicas=ABSENT_BROKERS,
                isr=ABSENT_BROKERS[:1],
                leader=-1,
                leader_epoch=3,
                partition_epoch=5,
                directories=tuple(directory(broker_id) for broker_id in ABSENT_BROKERS),
            )
            for partition_id in range(PARTITIONS)
        ]
    delta = MetadataDelta(EMPTY)
    for record in records:
        delta.replay(record)
    return delta.apply(Provenance(len(records), 6, 0))


def directory(node_id: int) -> bytes:
    """Return the id of a node's log directory, which is none of the reserved ones."""
    return b"directory" + node_id.to_bytes(7, "big")
