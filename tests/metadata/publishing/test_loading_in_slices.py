"""Loading in slices: each visits a bounded number of partitions, and nothing shows before the last one."""

import gc
import sys
from contextlib import suppress

import pytest
from metadata_files import batch_of
from metadata_images import D1, broker, partition

from falkirk.metadata.image.metadata_image import Provenance
from falkirk.metadata.image.partition import Partition
from falkirk.metadata.image.partition_reader import PartitionReader
from falkirk.metadata.levels.lowering import PartitionLowering
from falkirk.metadata.levels.writer import WriterOptions, write_values
from falkirk.metadata.publishing.loader import MetadataLoader
from falkirk.protocol.messages import (
    ClearElrRecord,
    FeatureLevelRecord,
    NoOpRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.slices import VISITS_PER_SLICE
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

TOPICS, PARTITIONS = 20, 500
COUNT = TOPICS * PARTITIONS
BEHIND = Provenance(99_999, 7, 0)
LOW = MetadataVersion.parse("3.7-IV0")


class Publisher:
    def __init__(self):
        self.images = []

    def on_metadata(self, delta, image):
        assert delta.image is not image
        self.images.append(image)


def batch(base_offset, *records):
    versions = {PartitionRecord: 2, RegisterBrokerRecord: 3}
    values = [encode_metadata_record(record, versions.get(type(record), 0)) for record in records]
    return batch_of(values, base_offset, "0.log")


def large_loader():
    publisher = Publisher()
    loader = MetadataLoader([publisher])
    records = [FeatureLevelRecord(METADATA_VERSION, 33), broker(1, log_dirs=(D1,))]
    for number in range(TOPICS):
        topic_id = bytes([number + 1]) * 16
        records.append(TopicRecord(f"t{number}", topic_id))
        for index in range(PARTITIONS):
            record = partition(index, directories=(D1,), eligible_leader_replicas=(1,))
            record.topic_id = topic_id
            records.append(record)
    loader.load_log([batch(0, *records)])
    publisher.images.clear()
    return loader, publisher


def visits_by_slice(monkeypatch, owner, name, slices, check):
    """Run slices; return how often a method was called in each."""
    calls = []
    original = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *args, **kwargs: calls.append(None) or original(*args, **kwargs))
    counts = []
    for _ in slices:
        counts.append(len(calls))
        calls.clear()
        check()
    return [*counts, len(calls)]


@pytest.mark.parametrize(
    ("record", "owner", "name"),
    [
        (FeatureLevelRecord(METADATA_VERSION, LOW.level), PartitionLowering, "lowered"),
        (ClearElrRecord(), Partition, "without_elr"),
    ],
)
def test_a_record_that_changes_every_partition_is_applied_over_many_slices(monkeypatch, record, owner, name):
    loader, publisher = large_loader()
    before, loaded = loader.image, loader.loaded
    batches = [batch(loaded.end_offset, NoOpRecord()), batch(loaded.end_offset + 1, record)]

    def nothing_shows():
        assert (loader.image, loader.loaded, publisher.images) == (before, loaded, [])

    counts = visits_by_slice(monkeypatch, owner, name, loader.load_log_slices(batches), nothing_shows)

    assert sum(counts) == COUNT
    assert max(counts) <= VISITS_PER_SLICE
    assert loader.loaded.end_offset == loaded.end_offset + 2
    assert publisher.images == [loader.image]
    assert all(not each.eligible_leader_replicas for topic in loader.image.topics for each in topic.partitions)


@pytest.mark.source
def test_a_snapshot_is_read_and_compared_over_many_slices(monkeypatch):
    loader, publisher = large_loader()
    before, loaded = loader.image, loader.loaded
    batches = [batch_of(list(write_values(before, WriterOptions(metadata_version=LOW))), 0, "x.checkpoint")]
    sizes = []
    read_run = PartitionReader.read_run

    def measured(reader, values, at, *args):
        end = read_run(reader, values, at, *args)
        sizes[-1] += end - at
        return end

    monkeypatch.setattr(PartitionReader, "read_run", measured)
    slices = loader.load_snapshot_slices(batches, BEHIND)
    sizes.append(0)
    for _ in slices:
        assert (loader.image, loader.loaded, publisher.images) == (before, loaded, [])
        sizes.append(0)

    assert sum(sizes) == COUNT
    assert max(sizes) <= VISITS_PER_SLICE
    # The comparison comes after the last value has been read.
    assert sizes[-COUNT // VISITS_PER_SLICE :] == [0] * (COUNT // VISITS_PER_SLICE)
    assert publisher.images == [loader.image]
    assert loader.loaded == BEHIND


class CancelledError(BaseException):
    pass


@pytest.mark.parametrize("slices_before", [4, 21])
def test_what_a_cancelled_loading_has_read_is_freed_over_many_slices(slices_before):
    loader, _ = large_loader()
    values = list(write_values(loader.image, WriterOptions(metadata_version=LOW)))
    batches = [batch_of(values, 0, "x.checkpoint")]
    loading = loader.load_snapshot_slices(batches, BEHIND)
    for _ in range(slices_before):
        next(loading)
    gc.collect()
    held = sys.getallocatedblocks()
    with suppress(CancelledError):
        loading.throw(CancelledError())
    del loading
    left = [sys.getallocatedblocks()]
    left += [sys.getallocatedblocks() for _ in loader.free_abandoned_slices()]
    # A comparison under way has numbers of its own, which are freed at once.
    assert held - left[0] < COUNT / 8
    assert left[0] - sys.getallocatedblocks() > slices_before * VISITS_PER_SLICE / 8
    assert list(loader.free_abandoned_slices()) == []
