import pytest
from storage_files import SNAPSHOTS, label

from falkirk.protocol.errors import LocalProtocolError
from falkirk.protocol.messages.voters_record import VotersRecord
from falkirk.protocol.record_batch import read_batches
from falkirk.storage import snapshot_writer
from falkirk.storage.snapshot_file import read_snapshot
from falkirk.storage.snapshot_writer import write_snapshot


@pytest.mark.parametrize("path", SNAPSHOTS, ids=label)
def test_snapshots_of_kafka_are_written_byte_for_byte(path):
    data = path.read_bytes()
    snapshot = read_snapshot(data, file=path.name)
    times = [batch.max_timestamp for batch in read_batches(data)]
    chunks = write_snapshot(
        [value for batch in snapshot.data_batches for value in batch.values()],
        epoch=snapshot.leader_epoch,
        last_contained_log_timestamp=snapshot.last_contained_log_timestamp,
        clock=iter(times).__next__,
        kraft_version=snapshot.kraft_version or 0,
        voters=snapshot.voters,
    )
    assert b"".join(chunks) == data


def layout(values, **options):
    data = b"".join(write_snapshot(values, epoch=3, last_contained_log_timestamp=9, clock=lambda: 77, **options))
    snapshot = read_snapshot(data, file="x")
    assert snapshot.is_complete
    assert [value for batch in snapshot.data_batches for value in batch.values()] == list(values)
    assert {batch.max_timestamp for batch in read_batches(data)} == {77}
    return [batch.record_count for batch in snapshot.data_batches]


@pytest.mark.slow
def test_batches_are_divided_as_kafka_divides_them():
    """As a snapshot of 240,000 partitions by 4.3.1 is: full batch, the group that did not fit, full batch, ..."""
    group = 1024 * 124
    full = (8 * 1024 * 1024 - 61) // group
    # Records of 124 bytes with their frame, whatever the size of the offset delta.
    values = [bytes(124 - 10)] * (1024 * (2 * full + 3) + 5)
    counts = layout(values)
    assert counts[1] == 1024
    assert counts[3] == 1024
    assert counts[0] == counts[2] == 1024 * (counts[0] // 1024)
    assert sum(counts) == len(values)
    assert len(counts) == 5


def test_few_records_are_one_batch():
    assert layout([b"a", b"b"]) == [2]
    assert layout([bytes(10)] * 5000) == [5000]
    assert layout([]) == []


def test_a_group_that_is_larger_than_a_batch_is_divided():
    """Kafka's writer fails here: 1,024 records of 10,000 bytes are more than 8 MiB."""
    counts = layout([bytes(10_000)] * 1500)
    assert sum(counts) == 1500
    assert max(counts) * 10_000 < snapshot_writer.BATCH_BYTES_MAX


def test_a_record_that_is_larger_than_a_batch_is_refused():
    assert layout([bytes(8 * 1024 * 1024 - 61 - 17)]) == [1]
    with pytest.raises(LocalProtocolError, match="record of 8388608 bytes is larger than a batch may be"):
        layout([b"small", bytes(8 * 1024 * 1024)])


def test_voters_need_a_kraft_version():
    assert layout([b"a"], kraft_version=1, voters=VotersRecord()) == [1]
    with pytest.raises(LocalProtocolError, match=r"kraft.version 0 can not hold voters"):
        layout([b"a"], voters=VotersRecord())
