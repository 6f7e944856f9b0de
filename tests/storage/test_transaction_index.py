import pytest
from storage_files import STORAGE

from falkirk.protocol.record_batch import read_batches
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.producer_state import ProducerEntry, ProducerStates
from falkirk.storage.transaction_index import (
    AbortedTransaction,
    aborted_transaction,
    format_transaction_index,
    parse_transaction_index,
)

PATH = STORAGE / "4.0.0/d0/codec-lz4-1-0/00000000000000000000.txnindex"
ENTRY = AbortedTransaction(producer_id=6, first_offset=268, last_offset=270, last_stable_offset=271)


def rebuilt(batches, producers):
    """Return the index that Kafka's recovery would make; `producers` is the state at the segment's start."""
    completed = (producers.append(batch) for batch in batches)
    return tuple(aborted_transaction(each) for each in completed if each is not None and each.is_aborted)


def test_an_index_of_kafka_is_read_written_and_rebuilt():
    data = PATH.read_bytes()
    assert parse_transaction_index(data, base_offset=0, file="x") == (ENTRY,)
    assert format_transaction_index([ENTRY]) == data
    log = PATH.with_suffix(".log").read_bytes()
    assert rebuilt(read_batches(log), ProducerStates()) == (ENTRY,)


def test_a_transaction_that_began_in_an_earlier_segment_counts():
    log = PATH.with_suffix(".log").read_bytes()
    late = [batch for batch in read_batches(log) if batch.base_offset > 268]
    before = ProducerEntry(producer_id=6, producer_epoch=0, current_transaction_first_offset=250)
    (found,) = rebuilt(late, ProducerStates([before]))
    assert (found.first_offset, found.last_offset) == (250, 270)
    assert rebuilt([b for b in late if b.is_control], ProducerStates()) == ()


@pytest.mark.parametrize(
    ("data", "reason", "offset"),
    [
        (PATH.read_bytes()[:33], "33 bytes are not a whole number of entries of 34 bytes", 0),
        (b"\0\1" + PATH.read_bytes()[2:], "entry 0 has version 1, 0 was expected", 0),
        (PATH.read_bytes() * 2, "entry 1 ends at offset 270, more than 270 was expected", 34),
    ],
)
def test_what_is_wrong_is_named(data, reason, offset):
    with pytest.raises(CorruptFileError, match=reason) as caught:
        parse_transaction_index(data, base_offset=0, file="x")
    assert caught.value.offset == offset


def test_transactions_before_the_segment_do_not_belong_into_it():
    with pytest.raises(CorruptFileError, match="entry 0 ends at offset 270, more than 270 was expected"):
        parse_transaction_index(PATH.read_bytes(), base_offset=271, file="x")
