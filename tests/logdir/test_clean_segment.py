from storage_files import STORAGE

from falkirk.logdir.segment_rewrite import clean_segment
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.control_record import ControlRecordType, encode_control_record
from falkirk.protocol.messages.end_txn_marker import EndTxnMarker
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import read_batches
from falkirk.storage.producer_state import ProducerStates
from falkirk.storage.segment import SegmentReader


def batch(base_offset, *keys, producer_id=-1):
    records = [Record(base_offset + index, 1000, key, b"v") for index, key in enumerate(keys)]
    has_producer = producer_id >= 0
    return build_batch(
        records,
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=0 if has_producer else -1,
        base_sequence=base_offset if has_producer else -1,
        is_transactional=has_producer,
    )


def marker(base_offset, producer_id):
    key, value = encode_control_record(ControlRecordType.COMMIT, EndTxnMarker(coordinator_epoch=1))
    return build_batch(
        [Record(base_offset, 1000, key, value)],
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=0,
        is_transactional=True,
        is_control=True,
    )


def clean(data, keep, **options):
    batches = list(read_batches(data))
    producers = ProducerStates()
    for item in batches:
        producers.append(item)
    end = options.pop("log_end_offset", batches[-1].end_offset)
    return b"".join(clean_segment(batches, keep, producers=producers, log_end_offset=end, **options))


def test_a_segment_that_loses_nothing_stays_as_it_is():
    data = (STORAGE / "4.0.0/d0/codec-zstd-1-0/00000000000000000000.log").read_bytes()
    assert clean(data, lambda _: True) == data


def test_records_go_and_offsets_stay():
    data = batch(0, b"a", b"b") + batch(2, b"b") + batch(3, b"b", b"a")
    found = list(read_batches(clean(data, lambda record: record.key != b"b")))
    assert [(item.base_offset, item.last_offset) for item in found] == [(0, 1), (3, 4)]
    assert [record.offset for item in found for record in item.records()] == [0, 4]


def test_the_last_batch_of_the_log_stays_for_its_offset():
    data = batch(0, b"a") + batch(1, b"b", b"b")
    found = list(read_batches(clean(data, lambda record: record.key != b"b")))
    assert [(item.end_offset, item.record_count) for item in found] == [(1, 1), (3, 0)]
    # In a segment with others behind it, it may go.
    assert clean(data, lambda record: record.key != b"b", log_end_offset=99) == batch(0, b"a")


def test_the_last_batch_of_a_producer_stays_for_its_sequence():
    data = batch(0, b"b", producer_id=7) + batch(1, b"b", producer_id=7) + marker(2, 7) + batch(3, b"a")
    found = list(read_batches(clean(data, lambda record: record.key != b"b")))
    assert [(item.base_offset, item.record_count, item.base_sequence) for item in found] == [
        (1, 0, 1),
        (2, 1, -1),
        (3, 1, -1),
    ]


def test_markers_stay_and_are_not_asked_about():
    asked = []
    data = batch(0, b"b", producer_id=7) + marker(1, 7)
    assert clean(data, lambda record: bool(asked.append(record.key)) or True) == data
    assert asked == [b"b"]


def test_the_producers_of_a_cleaned_segment_are_in_the_state_they_were():
    data = (STORAGE / "4.0.0/d0/codec-lz4-1-0/00000000000000000000.log").read_bytes()
    cleaned = clean(data, lambda record: record.offset % 5 == 0)
    assert len(cleaned) < len(data)
    states = []
    for log in (data, cleaned):
        reader = SegmentReader(log, file="log", base_offset=0)
        producers = ProducerStates()
        for item in reader:
            producers.append(item)
        states.append((producers.entries, reader.end_offset))
    assert states[0] == states[1]
