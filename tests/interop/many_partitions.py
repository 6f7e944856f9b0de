"""A stopped cluster of real Kafka whose metadata is made large: partitions on brokers that are registered and away."""

from collections.abc import Sequence
from pathlib import Path

from kafka_cluster import KafkaCluster

from falkirk.logdir.changes import ImageRecords
from falkirk.logdir.cluster import read_cluster
from falkirk.logdir.in_place import change_in_place
from falkirk.logdir.kraft_conversion import KraftConversion
from falkirk.logdir.locate import find_nodes
from falkirk.logdir.metadata_changes import NewMetadata, metadata_changes
from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import Provenance
from falkirk.metadata.levels.writer import WriterOptions
from falkirk.protocol.messages import PartitionRecord, RegisterBrokerRecord, TopicRecord
from falkirk.protocol.messages.register_broker_record import BrokerFeature
from falkirk.storage.posix_disk import PosixDisk
from falkirk.versions.release import Release

_AWAY = (101, 102, 103)
_BY_TOPIC = 1000


def add_partitions(cluster: KafkaCluster, log_dirs: Sequence[Path], count: int, folder: Path) -> None:
    """Add partitions, in sync and without a leader, to the metadata of stopped nodes; backups go to `folder`."""
    source = read_cluster(PosixDisk(), find_nodes(list(log_dirs)))
    level = source.image.features.metadata_version
    assert level is not None
    release = Release.parse(cluster.release)
    features = [BrokerFeature(name, to.lowest, to.highest) for name, to in release.supported_features().items()]
    delta = MetadataDelta(source.image)
    for broker_id in _AWAY:
        delta.replay(
            RegisterBrokerRecord(
                broker_id=broker_id,
                broker_epoch=broker_id,
                fenced=True,
                features=features,
                log_dirs=[_directory(broker_id)],
            )
        )
    for number in range(count // _BY_TOPIC):
        topic_id = (1 << 64 | number).to_bytes(16, "big")
        delta.replay(TopicRecord(f"many-{number}", topic_id))
        for partition_id in range(_BY_TOPIC):
            delta.replay(
                PartitionRecord(
                    partition_id=partition_id,
                    topic_id=topic_id,
                    replicas=list(_AWAY),
                    isr=list(_AWAY),
                    leader=-1,
                    leader_epoch=3,
                    partition_epoch=5,
                    directories=[_directory(broker_id) for broker_id in _AWAY],
                )
            )
    image = delta.apply(Provenance(source.end_offset, source.epoch, source.last_timestamp))
    new = NewMetadata(
        records=ImageRecords(image, WriterOptions(metadata_version=level)),
        features=dict(image.features.finalized),
        metadata_version=level,
        release=release,
        kraft=KraftConversion(before=source.kraft_version, after=source.kraft_version),
        voters=None if source.log is None else source.log.voters,
    )
    change_in_place(metadata_changes(source, new), folder, {})


def _directory(broker_id: int) -> bytes:
    return b"directory" + broker_id.to_bytes(7, "big")
