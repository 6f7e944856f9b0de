import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from raised import raised
from record_strategies import batch_arguments, batches
from storage_files import LOGS, STORAGE, kafka_reads, label

from falkirk.protocol.batch_builder import ValueBatchBuilder, assemble_batch, build_batch
from falkirk.protocol.compression import Compression, compress
from falkirk.protocol.errors import LocalProtocolError, RemoteProtocolError
from falkirk.protocol.record import Record, encode_record
from falkirk.protocol.record_batch import (
    ATTRIBUTES_AT,
    HEADER_BYTES,
    IncompleteBatchError,
    read_batch,
    read_batches,
)

KAFKA_READS = kafka_reads()


def one(data):
    (batch,) = read_batches(data)
    return batch


def some_batch(**arguments):
    records = [Record(10 + index, 1000 + index, b"key", b"value %d" % index) for index in range(3)]
    return build_batch(records, base_offset=10, leader_epoch=4, **arguments)


def test_values_are_read_in_runs_and_damage_is_found_where_it_is():
    values = [b"value %d" % number for number in range(10)]
    builder = ValueBatchBuilder(base_offset=10, leader_epoch=4, timestamp_ms=5)
    builder.extend(values)
    data = builder.build()
    assert list(one(data).value_runs(4)) == [values[:4], values[4:8], values[8:]]
    batch = read_batch(memoryview(data[:-3] + b"\xff" * 3), 0, check_crc=False)
    runs = batch.value_runs(4)
    assert [next(runs), next(runs)] == [values[:4], values[4:8]]
    with pytest.raises(RemoteProtocolError):
        list(runs)


def test_values_of_another_form_are_read_behind_those_of_krafts():
    records = [Record(10 + number, 1000 + (number > 4), None, b"value %d" % number) for number in range(8)]
    batch = one(build_batch(records, base_offset=10))
    assert list(batch.value_runs(3)) == [batch.values()[:3], batch.values()[3:]]


@pytest.mark.slow
@given(arguments=batch_arguments())
def test_decode_is_the_inverse_of_encode(arguments):
    batch = one(build_batch(**arguments))
    expected = arguments["records"]
    if arguments["log_append_time"] is not None:
        expected = [
            Record(record.offset, arguments["log_append_time"], record.key, record.value, record.headers)
            for record in expected
        ]
    assert batch.records() == expected
    for field in ("base_offset", "last_offset", "leader_epoch", "compression", "producer_id", "producer_epoch"):
        assert getattr(batch, field) == arguments[field]
    assert batch.base_sequence == arguments["base_sequence"]
    assert batch.is_transactional == arguments["is_transactional"]
    assert batch.delete_horizon_ms == arguments["delete_horizon_ms"]
    assert batch.is_log_append_time == (arguments["log_append_time"] is not None)
    assert batch.max_timestamp == max(record.timestamp for record in expected)
    assert batch.record_count == len(expected)
    assert not batch.is_control


@pytest.mark.slow
@given(data=batches())
def test_keys_and_values_are_those_of_the_records(data):
    batch = one(data)
    expected = [(record.offset - batch.base_offset, record.key, record.value) for record in batch.records()]
    assert list(batch.key_values()) == expected


@pytest.mark.parametrize(("last_offset", "timestamp"), [(1, 0), (5, (1 << 63) - 1)])
def test_keys_and_values_are_refused_as_the_records_are(last_offset, timestamp):
    body = encode_record(Record(2, 5, b"k", b"v"), base_offset=0, base_timestamp=0)
    batch = one(assembled(body, last_offset_delta=last_offset, base_timestamp=timestamp))
    with pytest.raises(RemoteProtocolError):
        batch.records()
    with pytest.raises(RemoteProtocolError):
        batch.key_values()


@pytest.mark.slow
@given(parts=st.lists(batches(), max_size=4))
def test_batches_are_found_one_behind_the_other(parts):
    data = b"".join(parts)
    found = list(read_batches(data))
    assert [bytes(batch.data) for batch in found] == parts
    assert [batch.end_position for batch in found] == [len(b"".join(parts[: i + 1])) for i in range(len(parts))]


@pytest.mark.parametrize("path", KAFKA_READS)
def test_batches_and_records_are_what_kafka_reads(path):
    lines = iter(KAFKA_READS[path])
    for batch in read_batches((STORAGE / path).read_bytes()):
        line = next(lines)
        assert (line["baseOffset"], line["lastOffset"]) == (batch.base_offset, batch.last_offset)
        assert (line["partitionLeaderEpoch"], line["checksum"]) == (batch.leader_epoch, batch.crc)
        assert (line["producerId"], line["producerEpoch"]) == (batch.producer_id, batch.producer_epoch)
        assert (line["baseSequence"], line["lastSequence"]) == (batch.base_sequence, batch.last_sequence)
        assert (line["isTransactional"], line["isControlBatch"]) == (batch.is_transactional, batch.is_control)
        assert (line["maxTimestamp"], line["count"]) == (batch.max_timestamp, batch.record_count)
        assert (line["compression"], line["sizeInBytes"]) == (batch.compression.name.lower(), batch.size)
        for record in batch.records():
            line = next(lines)
            assert (line["offset"], line["ts"]) == (record.offset, record.timestamp)
            assert line["key"] == (None if record.key is None else record.key.hex())
            assert line["value"] == (None if record.value is None else record.value.hex())
            headers = [[key, None if value is None else value.hex()] for key, value in record.headers]
            assert line.get("headers", []) == headers
    assert next(lines, None) is None


@pytest.mark.parametrize("path", LOGS, ids=label)
def test_batches_of_kafka_are_built_byte_for_byte(path):
    """Save where a codec is free to choose (snappy, zstd), or the broker set one timestamp after the producer."""
    for batch in read_batches(path.read_bytes()):
        if batch.compression in (Compression.SNAPPY, Compression.ZSTD) or batch.is_log_append_time:
            continue
        built = build_batch(
            batch.records(),
            base_offset=batch.base_offset,
            last_offset=batch.last_offset,
            leader_epoch=batch.leader_epoch,
            compression=batch.compression,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
            is_transactional=batch.is_transactional,
            is_control=batch.is_control,
        )
        assert built == bytes(batch.data)


def test_sequences_wrap_around():
    batch = one(some_batch(producer_id=1, producer_epoch=0, base_sequence=(1 << 31) - 2))
    assert batch.last_sequence == 0
    assert one(some_batch()).last_sequence == -1


def test_the_largest_offsets_are_read():
    top = (1 << 63) - 1
    batch = one(build_batch([Record(top, 0)], base_offset=top))
    assert (batch.last_offset, batch.records()[0].offset) == (top, top)


@pytest.mark.parametrize("codec", Compression)
def test_every_single_bit_flip_is_detected(codec):
    """Base offset and leader epoch are no matter of the CRC: there only the value changes (segments see it)."""
    good = some_batch(compression=codec)
    for bit in range(len(good) * 8):
        at = bit // 8
        flipped = bytearray(good)
        flipped[at] ^= 1 << bit % 8
        if at < 8 or 12 <= at < 16:
            try:
                batch = one(flipped)
            except RemoteProtocolError:
                assert at == 0  # a negative offset
            else:
                assert (batch.base_offset, batch.leader_epoch) != (10, 4)
            continue
        with pytest.raises(RemoteProtocolError):
            list(read_batches(flipped))


def test_every_truncation_is_an_incomplete_batch():
    good = some_batch()
    for size in range(1, len(good)):
        with pytest.raises(IncompleteBatchError) as caught:
            list(read_batches(good + good[:size]))
        assert caught.value.offset == len(good)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("size", [26, 17, 100])
def test_old_message_sets_are_named(magic, size):
    # offset int64, size int32, crc uint32, magic int8, attributes int8, ...
    message = bytes(8) + (14).to_bytes(4, "big") + bytes(4) + bytes([magic])
    with pytest.raises(RemoteProtocolError, match=f"message set of magic {magic} .* is not supported") as caught:
        list(read_batches(message.ljust(size, b"\0")))
    assert caught.value.offset == 16


def test_another_magic_is_not_taken_for_an_old_one():
    with pytest.raises(RemoteProtocolError, match="magic 3, 2 was expected"):
        list(read_batches(bytes(16) + b"\x03" + bytes(44)))


def assembled(body=b"", **fields):
    header = {
        "base_offset": 0,
        "last_offset_delta": 0,
        "leader_epoch": 0,
        "attributes": 0,
        "base_timestamp": 0,
        "max_timestamp": 0,
        "producer_id": -1,
        "producer_epoch": -1,
        "base_sequence": -1,
        "record_count": 0,
    }
    return assemble_batch(body, **{**header, **fields})


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"last_offset_delta": -1}, "last offset delta -1"),
        ({"base_offset": -1}, "offsets from -1"),
        ({"base_offset": (1 << 63) - 1, "last_offset_delta": 1}, "last offset delta 1"),
        ({"record_count": -1}, "declares -1 records"),
        ({"record_count": 2}, "declares 2 records in 1 offsets"),
        ({"record_count": 1_000_000, "last_offset_delta": 1_000_000}, "declares 1000000 records in 0 bytes"),
    ],
)
def test_impossible_headers_are_named_before_any_record_is_decoded(fields, reason):
    with pytest.raises(RemoteProtocolError, match=reason):
        list(read_batches(assembled(**fields)))


@pytest.mark.parametrize("length", [-1, 0, 48, -(1 << 31)])
def test_impossible_lengths_are_named(length):
    data = bytearray(some_batch())
    data[8:12] = length.to_bytes(4, "big", signed=True)
    with pytest.raises(RemoteProtocolError, match=f"length of {length} bytes") as caught:
        list(read_batches(data))
    assert not isinstance(caught.value, IncompleteBatchError)


def test_an_unknown_codec_is_named():
    batch = one(assembled(b"", attributes=5))
    with pytest.raises(RemoteProtocolError, match="unknown codec 5") as caught:
        batch.records()
    assert caught.value.offset == ATTRIBUTES_AT


def test_a_record_outside_its_batch_is_an_error():
    data = build_batch([Record(0, 0), Record(5, 0)], base_offset=0)
    batch = one(data)
    wrong = assembled(batch.uncompressed(), record_count=2, last_offset_delta=4)
    with pytest.raises(RemoteProtocolError, match="record of offset 5 in a batch that ends at 4"):
        one(wrong).records()


@pytest.mark.parametrize("codec", Compression)
def test_damage_inside_records_is_named_with_batch_and_byte(codec):
    broken = assembled(b"\x0e" + bytes(6), record_count=1)
    body = one(broken).uncompressed()
    if codec is not Compression.NONE:
        broken = assembled(compress(codec, body), record_count=1, attributes=int(codec))
    with pytest.raises(RemoteProtocolError, match="7 bytes where 6 are left, batch of offset 0") as caught:
        next(read_batches(some_batch() + broken, len(some_batch()))).records()
    assert caught.value.offset >= len(some_batch()) + HEADER_BYTES


@pytest.mark.parametrize("codec", list(Compression)[1:])
def test_a_decompression_bomb_stops_at_the_bound(codec):
    bomb = build_batch([Record(0, 0, None, bytes(20_000_000))], base_offset=0, compression=codec)
    assert len(bomb) < 1_000_000
    with pytest.raises(RemoteProtocolError, match="more than 1000000 bytes"):
        one(bomb).records(bytes_max=1_000_000)


def test_a_retained_batch_without_records_is_read():
    batch = one(assembled(record_count=0, last_offset_delta=6, attributes=int(Compression.GZIP)))
    assert batch.records() == []
    assert batch.end_offset == 7


@given(values=st.lists(st.binary(max_size=80), min_size=1, max_size=80))
def test_value_batches_are_those_of_kraft(values):
    builder = ValueBatchBuilder(base_offset=7, leader_epoch=3, timestamp_ms=99)
    half = len(values) // 2
    builder.extend(values[:half])
    builder.extend(values[half:])
    data = builder.build()
    assert builder.size == len(data)
    records = [Record(7 + index, 99, None, value) for index, value in enumerate(values)]
    assert data == build_batch(records, base_offset=7, leader_epoch=3)
    assert one(data).values() == values


def test_values_of_batches_of_another_shape_are_read_as_well():
    batch = one(some_batch())
    assert batch.values() == [b"value 0", b"value 1", b"value 2"]
    with pytest.raises(RemoteProtocolError, match="record of offset 1 has no value"):
        one(build_batch([Record(0, 0, None, b""), Record(1, 0)], base_offset=0)).values()


def test_batches_that_can_not_be_are_not_built():
    with pytest.raises(LocalProtocolError, match="at least one record"):
        build_batch([], base_offset=0)
    with pytest.raises(LocalProtocolError, match="at least one record"):
        ValueBatchBuilder(base_offset=0, leader_epoch=0, timestamp_ms=0).build()
    with pytest.raises(LocalProtocolError, match="offset 4 follows 4"):
        build_batch([Record(4, 0), Record(4, 0)], base_offset=0)
    with pytest.raises(LocalProtocolError, match="last offset 3 is below"):
        build_batch([Record(4, 0)], base_offset=0, last_offset=3)
    with pytest.raises(LocalProtocolError, match="beyond the base offset"):
        build_batch([Record(0, 0)], base_offset=0, last_offset=1 << 31)


@pytest.mark.slow
@given(good=batches(), data=st.data())
def test_hostile_bytes_raise_one_error_or_are_read(good, data):
    at = data.draw(st.integers(0, len(good)))
    hostile = good[:at] + data.draw(st.binary(max_size=20)) + good[at:]
    error = raised(
        RemoteProtocolError,
        lambda: [batch.records(bytes_max=100_000) for batch in read_batches(hostile, check_crc=False)],
    )
    assert error is None or 0 <= error.offset <= len(hostile)


def test_hopping_costs_nothing_per_byte():
    """Headers alone are read: a hundred times the bytes in as many batches take about the same time."""
    seed = random.Random(0)
    small = build_batch([Record(0, 0, None, seed.randbytes(100))], base_offset=0) * 2000
    large = build_batch([Record(0, 0, None, seed.randbytes(10_000))], base_offset=0) * 2000

    def seconds(data):
        best = 1e9
        for _ in range(5):
            start = time.perf_counter()
            assert sum(1 for _ in read_batches(data, check_crc=False)) == 2000
            best = min(best, time.perf_counter() - start)
        return best

    assert seconds(large) < 10 * seconds(small)


def test_one_batch_is_read_where_it_stands():
    data = memoryview(some_batch() + some_batch())
    assert read_batch(data, len(some_batch())).position == len(some_batch())
