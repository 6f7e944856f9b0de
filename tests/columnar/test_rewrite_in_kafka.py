"""Real Kafka loads what the bulk rewriting made, and has the partitions that its own writer would have given it."""

from pathlib import Path

import pytest
from columnar_cases import metadata_files
from kafka_java import load_snapshot
from metadata_files import archive

from falkirk.columnar.rewrite import RewriteReport, RewriteTarget, rewrite_snapshot
from falkirk.metadata.elr_conversion import without_elr
from falkirk.metadata.image.partition import Partition
from falkirk.protocol.messages import FeatureLevelRecord, PartitionRecord, RegisterBrokerRecord
from falkirk.protocol.metadata_record import decode_metadata_record, encode_metadata_record
from falkirk.protocol.record_batch import read_batches
from falkirk.storage.snapshot_writer import SnapshotWriter
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.xdist_group("kafka-1")]

TYPES = {"TOPIC_RECORD", "PARTITION_RECORD"}


def converter(to):
    """The row path for what a 4.3.1 snapshot has besides topics: enough for 3.9.1 and 3.7.2 to load it."""

    def convert(asked):
        record, _ = decode_metadata_record(asked.value)
        if isinstance(record, FeatureLevelRecord):
            level = FeatureLevelRecord(METADATA_VERSION, to.level)
            return [encode_metadata_record(level, 0)] if record.name == METADATA_VERSION else []
        if isinstance(record, RegisterBrokerRecord):
            record.cordoned_log_dirs = None
            if not to.directory_assignment_supported:
                record.log_dirs = ()
            return [encode_metadata_record(record, to.register_broker_record_version)]
        if isinstance(record, PartitionRecord):
            changed = without_elr(Partition.from_record(record))
            written, version = changed.to_record(record.topic_id, record.partition_id, to, elr_enabled=False)
            return [encode_metadata_record(written, version)]
        return None

    return convert


def newest_snapshot(name):
    found = {path: data for path, data in archive(name).items() if path.endswith(".checkpoint")}
    path = max(path for path in found if "__cluster_metadata-0" in path)
    return path.rpartition("/")[2], found[path]


@pytest.mark.parametrize(("level", "release"), [("3.9-IV0", "3.9.1"), ("3.7-IV0", "3.7.2")])
@pytest.mark.parametrize("name", ["cluster-4.3.1.tar.gz", "elr-4.3.1.tar.gz"])
def test_an_older_kafka_loads_the_partitions_that_kafka_itself_would_write(tmp_path, name, level, release):
    assert name in metadata_files()
    file, data = newest_snapshot(name)
    to = MetadataVersion.parse(level)
    report = RewriteReport()
    target = RewriteTarget(metadata_version=to, elr_enabled=False, base_offset=1)
    batches = b"".join(rewrite_snapshot(data, target, converter(to), report=report))
    assert report.cut > 0
    written = snapshot_around(batches, tmp_path / "ours" / file)
    source = tmp_path / "source" / file
    source.parent.mkdir()
    source.write_bytes(data)
    ours = comparable(load_snapshot(written, release))
    theirs = comparable(load_snapshot(source, "4.3.1", "--at", level))
    assert ours
    # Kafka leaves a partition without ISR as it is, where its eligible leader replicas have to take over.
    expected_differences = conversions(data)
    assert {key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)} == expected_differences


def snapshot_around(batches: bytes, path: Path) -> Path:
    writer = SnapshotWriter(epoch=1, last_contained_log_timestamp=0, clock=lambda: 0)
    out = b"".join(writer.append_batch(batch) for batch in read_batches(batches)) + writer.finish()
    path.parent.mkdir()
    path.write_bytes(out)
    return path


def comparable(lines):
    """Topics and partitions by what they are about."""
    found = {}
    for line in lines:
        if line.get("type") in TYPES:
            data = line["data"]
            key = (line["type"], data["topicId"], data.get("partitionId"))
            assert key not in found
            found[key] = (line["version"], data)
    return found


def conversions(data):
    from falkirk.protocol.uuid import uuid_text

    found = set()
    for batch in read_batches(data):
        for record in [] if batch.is_control else batch.records():
            message, _ = decode_metadata_record(record.value)
            if (
                isinstance(message, PartitionRecord)
                and not message.isr
                and (message.eligible_leader_replicas or message.last_known_elr)
            ):
                found.add(("PARTITION_RECORD", uuid_text(message.topic_id), message.partition_id))
    return found
