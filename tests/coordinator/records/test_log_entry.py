"""Entries of batches: data, and the ends of transactions."""

import struct

import pytest

from falkirk.coordinator.records.log_entry import LoggedRecord, TransactionEnd, log_entries
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.control_record import ControlRecordType
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import read_batches


def batch(key, value=None, *, offset=0, producer_id=-1, transactional=False, control=False):
    return build_batch(
        [Record(offset, 1, key, value)],
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        is_transactional=transactional,
        is_control=control,
    )


def marker(type_, **options):
    return batch(struct.pack(">hh", 0, type_), bytes(6), producer_id=7, transactional=True, control=True, **options)


def test_records_carry_their_batchs_producer():
    data = batch(b"k", b"v") + batch(b"l", None, offset=1, producer_id=7, transactional=True)
    assert list(log_entries(read_batches(data))) == [
        LoggedRecord(0, b"k", b"v", -1, is_transactional=False),
        LoggedRecord(1, b"l", None, 7, is_transactional=True),
    ]


def test_markers_end_transactions_and_other_control_records_are_left_out():
    data = (
        marker(ControlRecordType.COMMIT)
        + marker(ControlRecordType.ABORT, offset=1)
        + marker(ControlRecordType.LEADER_CHANGE, offset=2)
        + marker(99, offset=3)
    )
    assert list(log_entries(read_batches(data))) == [
        TransactionEnd(0, 7, is_commit=True),
        TransactionEnd(1, 7, is_commit=False),
    ]


def test_a_control_record_without_a_type_is_an_error():
    with pytest.raises(RemoteProtocolError, match="control record"):
        list(log_entries(read_batches(batch(b"\0", control=True))))
