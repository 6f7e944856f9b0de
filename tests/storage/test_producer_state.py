import pytest
from hypothesis import given
from hypothesis import strategies as st
from storage_files import STORAGE, label

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.control_record import ControlRecordType, encode_control_record
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages.end_txn_marker import EndTxnMarker
from falkirk.protocol.messages.leader_change_message import LeaderChangeMessage
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import read_batches
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.producer_state import (
    CompletedTransaction,
    ProducerEntry,
    ProducerStates,
    format_producer_snapshot,
    parse_producer_snapshot,
)

SNAPSHOTS = sorted(STORAGE.rglob("*.snapshot"))


@pytest.mark.parametrize("path", SNAPSHOTS, ids=label)
def test_the_snapshots_of_kafka_are_rebuilt_from_the_log(path):
    states = ProducerStates()
    for batch in read_batches((path.parent / "00000000000000000000.log").read_bytes()):
        if batch.base_offset < int(path.stem):
            states.append(batch)
    assert format_producer_snapshot(states.entries.values()) == path.read_bytes()


INT16, INT32, INT64 = (st.integers(-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (16, 32, 64))
ENTRIES = st.builds(
    ProducerEntry,
    producer_id=INT64,
    producer_epoch=INT16,
    last_sequence=INT32,
    last_offset=INT64,
    offset_delta=INT32,
    timestamp=INT64,
    coordinator_epoch=INT32,
    current_transaction_first_offset=INT64,
)


@given(st.lists(ENTRIES, max_size=4))
def test_parse_is_the_inverse_of_format(entries):
    assert list(parse_producer_snapshot(format_producer_snapshot(entries), file="x")) == entries


GOOD = (STORAGE / "4.0.0/d0/codec-lz4-1-0/00000000000000000286.snapshot").read_bytes()


def test_every_single_bit_flip_is_detected():
    for bit in range(len(GOOD) * 8):
        flipped = bytearray(GOOD)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CorruptFileError):
            parse_producer_snapshot(bytes(flipped), file="x")


def test_every_truncation_is_detected():
    for size in range(len(GOOD)):
        with pytest.raises(CorruptFileError):
            parse_producer_snapshot(GOOD[:size], file="x")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("0002" + "00000000" * 2, "version is 2, 1 was expected"),
        ("0001" + "00000000" + "7fffffff", "2147483647 producers do not fit a file of 10 bytes"),
        ("0001" + "00000000" + "ffffffff", "-1 producers"),
        ("0001" + "00000000" + "00000000", "CRC is 1214729159, the file says 0"),
    ],
)
def test_what_is_wrong_is_named(data, reason):
    with pytest.raises(CorruptFileError, match=reason):
        parse_producer_snapshot(bytes.fromhex(data), file="x")


def data(base_offset, producer_id, *, count=1, epoch=0, sequence=0, transactional=True):
    records = [Record(base_offset + index, 1000 + base_offset, b"k", b"v") for index in range(count)]
    (batch,) = read_batches(
        build_batch(
            records,
            base_offset=base_offset,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=transactional,
        )
    )
    return batch


def marker(base_offset, producer_id, record_type=ControlRecordType.COMMIT, *, epoch=0, message=None):
    key, value = encode_control_record(record_type, message or EndTxnMarker(coordinator_epoch=3))
    (batch,) = read_batches(
        build_batch(
            [Record(base_offset, 5000, key, value)],
            base_offset=base_offset,
            producer_id=producer_id,
            producer_epoch=epoch,
            is_transactional=True,
            is_control=True,
        )
    )
    return batch


def test_a_transaction_goes_from_its_first_batch_to_its_marker():
    states = ProducerStates()
    assert states.append(data(10, 1, count=3, sequence=7)) is None
    assert states.append(data(20, 1, sequence=10)) is None
    assert states.entries[1].current_transaction_first_offset == 10
    assert states.append(marker(30, 1)) == CompletedTransaction(
        producer_id=1, first_offset=10, last_offset=30, last_stable_offset=31, is_aborted=False
    )
    assert states.entries[1] == ProducerEntry(
        producer_id=1, producer_epoch=0, last_sequence=10, last_offset=20, timestamp=5000, coordinator_epoch=3
    )


def test_the_last_stable_offset_is_that_of_the_next_open_transaction():
    states = ProducerStates()
    for batch in (data(10, 1), data(11, 2), data(12, 3)):
        states.append(batch)
    assert states.append(marker(13, 1, ControlRecordType.ABORT)).last_stable_offset == 11
    assert states.append(marker(14, 3, ControlRecordType.ABORT)).last_stable_offset == 11
    assert states.append(marker(15, 2, ControlRecordType.ABORT)).last_stable_offset == 16


def test_a_marker_without_data_ends_nothing():
    states = ProducerStates()
    assert states.append(marker(10, 1, ControlRecordType.ABORT)) is None
    assert states.entries[1].last_offset == -1


def test_a_marker_of_a_newer_epoch_forgets_the_batches():
    states = ProducerStates()
    states.append(data(10, 1))
    states.append(marker(11, 1, epoch=1))
    assert (states.entries[1].producer_epoch, states.entries[1].last_offset) == (1, -1)


def test_batches_without_a_producer_change_nothing():
    states = ProducerStates()
    (batch,) = read_batches(build_batch([Record(0, 0)], base_offset=0))
    assert states.append(batch) is None
    assert states.entries == {}


def test_a_control_batch_of_a_producer_must_hold_a_marker():
    odd = marker(4, 1, ControlRecordType.LEADER_CHANGE, message=LeaderChangeMessage())
    with pytest.raises(RemoteProtocolError, match="type 2 is no marker of a transaction, batch of offset 4"):
        ProducerStates().append(odd)


def test_the_cleaner_must_leave_the_last_batch_of_each_producer():
    batches = [data(10, 1), data(11, 2), data(12, 1), marker(13, 2, epoch=1), marker(14, 3), marker(15, 1)]
    states = ProducerStates()
    for batch in batches:
        states.append(batch)
    # Producer 1 has data at 12; producers 2 (new epoch) and 3 have nothing but markers.
    assert [batch.base_offset for batch in batches if states.is_last_of_its_producer(batch)] == [12, 13, 14]
