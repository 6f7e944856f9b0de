import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_strategies import batches
from storage_files import LOGS, label

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.batch_filter import filter_batch
from falkirk.protocol.compression import Compression
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import HEADER_BYTES, read_batches

KEPT_FIELDS = (
    "base_offset",
    "last_offset",
    "leader_epoch",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "last_sequence",
    "is_transactional",
    "is_control",
    "is_log_append_time",
)


def one(data):
    (batch,) = read_batches(data)
    return batch


@pytest.mark.slow
@given(data=batches(), choice=st.data())
def test_what_is_kept_keeps_its_offsets_and_everything_else_stays(data, choice):
    batch = one(data)
    records = batch.records()
    kept = choice.draw(st.sets(st.sampled_from([record.offset for record in records])))
    result = filter_batch(batch, lambda record: record.offset in kept)
    if not kept:
        assert result is None
        return
    after = one(result)
    assert after.records() == [record for record in records if record.offset in kept]
    for field in (*KEPT_FIELDS, "compression", "delete_horizon_ms"):
        assert getattr(after, field) == getattr(batch, field)
    if len(kept) == len(records):
        assert result == data


@pytest.mark.slow
@given(data=batches())
def test_an_emptied_batch_keeps_its_sequences_if_it_must_stay(data):
    batch = one(data)
    after = one(filter_batch(batch, lambda _: False, retain_empty=True))
    assert (after.size, after.record_count, after.records()) == (HEADER_BYTES, 0, [])
    for field in KEPT_FIELDS:
        assert getattr(after, field) == getattr(batch, field)
    assert (after.compression, after.delete_horizon_ms) == (Compression.NONE, None)
    assert (after.base_timestamp, after.max_timestamp) == (-1, batch.max_timestamp)


RECORDS = [Record(20, 1_005, b"a", b"1"), Record(21, 1_009, b"b", b"2"), Record(22, 1_002, b"c", b"3")]


def test_timestamps_become_those_of_the_records_left():
    batch = one(build_batch(RECORDS, base_offset=20))
    assert (batch.base_timestamp, batch.max_timestamp) == (1_005, 1_009)
    after = one(filter_batch(batch, lambda record: record.key == b"c"))
    assert (after.base_timestamp, after.max_timestamp) == (1_002, 1_002)
    assert after.records() == RECORDS[2:]


def test_the_brokers_timestamp_stays_and_the_producers_are_forgotten():
    # As a broker leaves it: only the attribute and the max timestamp were changed in place.
    batch = one(build_batch(RECORDS, base_offset=20, log_append_time=9_000))
    after = one(filter_batch(batch, lambda record: record.key != b"a"))
    assert (after.base_timestamp, after.max_timestamp) == (9_000, 9_000)
    assert [record.timestamp for record in after.records()] == [9_000, 9_000]


def test_the_delete_horizon_stays_in_the_base_timestamp():
    batch = one(build_batch(RECORDS, base_offset=20, delete_horizon_ms=5_000))
    after = one(filter_batch(batch, lambda record: record.key != b"a"))
    assert (after.delete_horizon_ms, after.max_timestamp) == (5_000, 1_009)
    assert after.records() == RECORDS[1:]


@pytest.mark.parametrize("path", LOGS, ids=label)
def test_real_batches_lose_only_what_they_should(path):
    for batch in read_batches(path.read_bytes()):
        result = filter_batch(batch, lambda record: record.offset % 3 != 0)
        expected = [record for record in batch.records() if record.offset % 3]
        assert (one(result).records() if result else []) == expected
