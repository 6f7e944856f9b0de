"""The image of a large cluster: 50 brokers, three replicas, one topic of 10,000 partitions; broker 1 is away."""

from collections.abc import Iterator
from random import Random

from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, MetadataImage, Provenance
from falkirk.node.config.node_config import BROKER
from falkirk.protocol.messages import FeatureLevelRecord, PartitionRecord, RegisterBrokerRecord, TopicRecord
from falkirk.protocol.messages.register_broker_record import BrokerEndpoint, BrokerFeature
from falkirk.protocol.schema import WireMessage
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION, FALKIRK_DOWNGRADE
from falkirk.versions.metadata_version import METADATA_VERSION
from falkirk.versions.release import Release
from support.stepped_cluster import endpoint_of

RELEASE = Release.parse("4.3")
BROKERS = range(1, 51)
AWAY = 1
REPLICAS = 3
TOPICS_MAX = 10_000
EACH_HAS_ELR = 100
LARGE_TOPIC, LARGE_TOPIC_PARTITIONS = "large", 10_000


def made_image(partitions: int) -> MetadataImage:
    """Return an image with about as many partitions."""
    return image_of([*cluster_records(BROKERS), *_topic_records(partitions)])


def image_of(records: list[WireMessage]) -> MetadataImage:
    """Return the image of records."""
    delta = MetadataDelta(EMPTY)
    for record in records:
        delta.replay(record)
    return delta.apply(Provenance(len(records), 6, 0))


def cluster_records(broker_ids: range) -> Iterator[WireMessage]:
    """Yield levels and registrations; only the first broker is fenced."""
    yield FeatureLevelRecord(METADATA_VERSION, RELEASE.latest_metadata_version.level)
    yield FeatureLevelRecord(ELIGIBLE_LEADER_REPLICAS_VERSION, 1)
    supported = [BrokerFeature(name, to.lowest, to.highest) for name, to in RELEASE.supported_features().items()]
    supported.append(BrokerFeature(FALKIRK_DOWNGRADE, 0, 1))
    for broker_id in broker_ids:
        endpoint = endpoint_of(broker_id, BROKER)
        yield RegisterBrokerRecord(
            broker_id=broker_id,
            incarnation_id=uuid(1, broker_id),
            broker_epoch=broker_id,
            end_points=[BrokerEndpoint("PLAINTEXT", endpoint.host, endpoint.port, 0)],
            features=supported,
            rack=None,
            fenced=broker_id == AWAY,
            log_dirs=(directory(broker_id),),
        )


def _topic_records(partitions: int) -> Iterator[WireMessage]:
    large = min(LARGE_TOPIC_PARTITIONS, partitions // 2)
    topics = min(TOPICS_MAX, (partitions - large) // 10)
    sizes = {LARGE_TOPIC: large} | {f"topic-{number}": (partitions - large) // topics for number in range(topics)}
    random = Random(1)
    for number, (name, size) in enumerate(sizes.items()):
        yield TopicRecord(name, uuid(3, number))
        for partition_id in range(size):
            replicas = tuple(random.sample(BROKERS, REPLICAS))
            present = tuple(replica for replica in replicas if replica != AWAY)
            has_elr = partition_id % EACH_HAS_ELR == 0
            yield PartitionRecord(
                partition_id=partition_id,
                topic_id=uuid(3, number),
                replicas=replicas,
                isr=present[:1] if has_elr else present,
                leader=present[0],
                leader_epoch=5,
                partition_epoch=9,
                directories=tuple(directory(replica) for replica in replicas),
                eligible_leader_replicas=present[1:] if has_elr else None,
            )


def directory(node_id: int) -> bytes:
    """Return the id of a node's log directory."""
    return uuid(2, node_id)


def uuid(kind: int, number: int) -> bytes:
    """Return an id that is none of the reserved ones, which begin with zeros."""
    return bytes([0x4F, kind, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0]) + number.to_bytes(4, "big")
