import pytest

from falkirk.coordinator.runtime.outcome import CoordinatorRecord, KeyAndValue, Producer
from falkirk.node.broker.coordinator_runtime.record_batches import PendingBatch, RecordEncoder, end_marker
from falkirk.protocol.compression import Compression
from falkirk.protocol.control_record import ControlRecordType, control_record_type
from falkirk.protocol.messages import OffsetCommitKey, OffsetCommitValue
from falkirk.protocol.record_batch import read_batches
from falkirk.versions.release import Release

RECORDS = [KeyAndValue(b"k1", b"v1"), KeyAndValue(b"k2", None)]


def batch_of(data):
    (batch,) = read_batches(data)
    return batch


@pytest.mark.parametrize("compression", [Compression.NONE, Compression.GZIP])
def test_records_of_a_step_are_one_batch_of_its_time(compression):
    pending = PendingBatch(compression)
    pending.add(pending.bodies(RECORDS))
    pending.add(pending.bodies(RECORDS[:1]))
    size = pending.size
    batch = batch_of(pending.build(1_000))
    assert [(each.offset, each.key, each.value) for each in batch.records()] == [
        (0, b"k1", b"v1"),
        (1, b"k2", None),
        (2, b"k1", b"v1"),
    ]
    assert {each.timestamp for each in batch.records()} == {1_000}
    assert (batch.compression, batch.producer_id, batch.is_transactional) == (compression, -1, False)
    assert compression is not Compression.NONE or batch.size == size
    assert len(pending) == 0


def test_records_of_a_transaction_carry_their_producer():
    pending = PendingBatch()
    pending.add(pending.bodies(RECORDS))
    batch = batch_of(pending.build(1_000, Producer(7, 2)))
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.is_transactional) == (7, 2, -1, True)


@pytest.mark.parametrize(("is_commit", "type_"), [(True, ControlRecordType.COMMIT), (False, ControlRecordType.ABORT)])
def test_a_marker_says_how_the_transaction_ends(is_commit, type_):
    batch = batch_of(end_marker(Producer(7, 2), 4, 1_000, is_commit=is_commit))
    assert (batch.is_control, batch.is_transactional, batch.producer_id) == (True, True, 7)
    assert [control_record_type(record.key) for record in batch.records()] == [type_]


def test_tombstones_have_no_value():
    encoder = RecordEncoder(Release.parse("4.3"))
    key = OffsetCommitKey(group="g", topic="t", partition=3)
    value = OffsetCommitValue(offset=7, metadata="", commit_timestamp=5)
    deleted, written = encoder.encode([CoordinatorRecord(key), CoordinatorRecord(key, value, 3)])
    assert deleted.key == written.key == b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x03"
    assert (deleted.value, written.value[:2]) == (None, b"\x00\x03")
