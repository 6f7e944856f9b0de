"""Small images made from records."""

from random import Random

from metadata_histories import HistoryMaker

from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, MetadataImage, Provenance
from falkirk.metadata.levels.writer import LossReport, WriterOptions, write_image
from falkirk.protocol.messages import (
    AccessControlEntryRecord,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from falkirk.protocol.schema import WireMessage
from falkirk.versions.metadata_version import MetadataVersion

TOPIC_ID = b"o" * 16
D1, D2, D3, D4 = (bytes([number]) * 16 for number in (0x11, 0x22, 0x33, 0x44))


def image_of(*records: WireMessage, level: int | None = 33) -> MetadataImage:
    """Return the image of some records at a metadata.version."""
    delta = MetadataDelta(EMPTY)
    if level is not None:
        delta.replay(FeatureLevelRecord("metadata.version", level))
    for record in records:
        delta.replay(record)
    return delta.apply(Provenance())


def random_image(seed: int, level: int, batches: int = 20) -> MetadataImage:
    """Return the image at the end of a random history."""
    maker = HistoryMaker(Random(seed), level)
    delta = MetadataDelta(EMPTY)
    for batch in [maker.first_batch(), *(maker.batch() for _ in range(batches))]:
        for record, _ in batch:
            delta.replay(record)
    return delta.apply(Provenance())


def written(image: MetadataImage, at: str | int, **options) -> tuple[MetadataImage, LossReport]:
    """Write an image at a level; return the image of what was written, and the losses."""
    report = LossReport()
    delta = MetadataDelta(EMPTY)
    for record, _ in write_image(image, options_at(at, **options), report.add):
        delta.replay(record)
    return delta.apply(image.provenance), report


def options_at(at: str | int, **options) -> WriterOptions:
    return WriterOptions(metadata_version=MetadataVersion.parse(str(at)), **options)


def broker(broker_id: int = 1, **fields) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(broker_id=broker_id, broker_epoch=broker_id, incarnation_id=b"i" * 16, **fields)


def orders() -> TopicRecord:
    return TopicRecord("orders", TOPIC_ID)


def partition(number: int = 0, **fields) -> PartitionRecord:
    fields = {"replicas": (1,), "isr": (1,), "leader": 1, "leader_epoch": 5, "partition_epoch": 9} | fields
    return PartitionRecord(partition_id=number, topic_id=TOPIC_ID, **fields)


def acl(host: str, permission: int = 3) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(b"a" * 16, 2, "orders", 3, "User:u", host, 3, permission)


def topic_config(name: str, value: str, topic: str = "orders") -> ConfigRecord:
    return ConfigRecord(2, topic, name, value)
