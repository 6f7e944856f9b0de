"""What clients produce is checked, numbered and, where the topic asks for it, rewritten."""

import struct
import zlib
from contextlib import suppress

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.compression import Compression, compress
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import read_batches
from falkirk.slices import SliceBudget, Turn, exhaust
from falkirk.storage.log.append import AppendOrigin, AppendRefusedError
from falkirk.storage.log.log_config import LogConfig
from falkirk.storage.log.record_validator import check_slices, is_old_or_compressed, validate_produced

NOW = 1_700_000_000_000
RECORDS = [Record(0, NOW - 5, b"a", b"first"), Record(1, NOW - 3, b"b", None), Record(2, NOW - 4, b"c", b"")]
CODECS = list(Compression)


def batch(records=RECORDS, **fields):
    return build_batch(records, **{"base_offset": 0, "compression": Compression.NONE} | fields)


def changed(data, at, value):
    """`data` with other bytes at `at`, and a CRC that fits."""
    out = bytearray(data)
    out[at : at + len(value)] = value
    out[17:21] = crc32c(bytes(out[21:])).to_bytes(4, "big")
    return bytes(out)


def validate(data, config=None, *, origin=AppendOrigin.CLIENT, first_offset=70, leader_epoch=4):
    fields = {
        "topic": "t-0",
        "config": config or LogConfig(),
        "first_offset": first_offset,
        "leader_epoch": leader_epoch,
        "now_ms": NOW,
    }
    at_once = outcome(lambda: validate_produced(data, origin=origin, **fields))
    if origin is AppendOrigin.CLIENT:
        checked = exhaust(checking(data, config))
        assert told(outcome(lambda: validate_produced(data, origin=origin, checked=checked, **fields))) == told(at_once)
    if isinstance(at_once, AppendRefusedError):
        raise at_once
    return at_once


def checking(data, config=None, *, turn=None, budget=None):
    return check_slices(
        data,
        topic="t-0",
        config=config or LogConfig(),
        now_ms=NOW,
        turn=turn or Turn(),
        budget=budget or SliceBudget(),
    )


def outcome(validating):
    try:
        return validating()
    except AppendRefusedError as refused:
        return refused


def told(result):
    if isinstance(result, AppendRefusedError):
        return result.error_code, result.message, result.record_errors
    return bytes(result.data), result.batches, result.log_append_time_ms


def refused(data, config=None, **how):
    with pytest.raises(AppendRefusedError) as caught:
        validate(data, config, **how)
    return caught.value


def contents(validated):
    (written,) = read_batches(validated.data)
    return [(each.offset, each.timestamp, each.key, each.value, each.headers) for each in written.records()]


def expected(records=RECORDS, first_offset=70):
    return [(first_offset + each.offset, each.timestamp, each.key, each.value, each.headers) for each in records]


@pytest.mark.parametrize("codec", CODECS)
def test_a_sound_batch_keeps_all_bytes_but_offset_and_leader_epoch(codec):
    produced = batch(compression=codec)
    written = validate(memoryview(produced))
    assert bytes(written.data) == (70).to_bytes(8, "big") + produced[8:12] + (4).to_bytes(4, "big") + produced[16:]
    assert [each.last_offset for each in written.batches] == [72]
    assert written.log_append_time_ms == -1


@pytest.mark.parametrize("target", CODECS)
@pytest.mark.parametrize("source", CODECS)
def test_the_topics_codec_wins_over_the_producers(source, target):
    name = "uncompressed" if target is Compression.NONE else target.name.lower()
    produced = batch(compression=source, producer_id=9, producer_epoch=1, base_sequence=5, is_transactional=True)
    written = validate(produced, LogConfig(compression_type=name))
    (got,) = written.batches
    assert got.compression is target
    assert got.crc_is_valid
    assert (got.producer_id, got.producer_epoch, got.base_sequence, got.is_transactional) == (9, 1, 5, True)
    assert (got.base_timestamp, got.max_timestamp, got.leader_epoch) == (NOW - 5, NOW - 3, 4)
    assert contents(written) == expected()


@pytest.mark.parametrize("compression_type", ["producer", "gzip"])
def test_log_append_time_replaces_the_producers_timestamps(compression_type):
    config = LogConfig(message_timestamp_type="LogAppendTime", compression_type=compression_type)
    written = validate(batch(), config)
    assert written.log_append_time_ms == NOW
    assert written.batches[0].is_log_append_time
    assert {timestamp for _, timestamp, *_ in contents(written)} == {NOW}


def test_a_wrong_max_timestamp_is_mended():
    produced = changed(batch(), 35, (NOW + 10**6).to_bytes(8, "big"))
    written = validate(produced)
    assert written.batches[0].max_timestamp == NOW - 3
    assert bytes(written.data)[16:] == batch()[16:]


def test_a_flipped_bit_is_corrupt():
    produced = bytearray(batch())
    produced[-1] ^= 1
    assert refused(bytes(produced)).error_code is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    ("at", "value", "code"),
    [
        (0, (1).to_bytes(8, "big"), ErrorCode.INVALID_RECORD),
        (8, (13).to_bytes(4, "big"), ErrorCode.CORRUPT_MESSAGE),
        (8, (14).to_bytes(4, "big"), ErrorCode.CORRUPT_MESSAGE),
        (8, (1000).to_bytes(4, "big"), ErrorCode.INVALID_RECORD),
        (16, b"\x03", ErrorCode.CORRUPT_MESSAGE),
        (16, b"\xff", ErrorCode.CORRUPT_MESSAGE),
        (22, b"\x05", ErrorCode.INVALID_RECORD),
        (22, b"\x20", ErrorCode.INVALID_RECORD),
        (22, b"\x01", ErrorCode.INVALID_RECORD),
        (23, (-1).to_bytes(4, "big", signed=True), ErrorCode.INVALID_RECORD),
        (23, (3).to_bytes(4, "big"), ErrorCode.INVALID_RECORD),
        (43, (5).to_bytes(8, "big"), ErrorCode.INVALID_RECORD),
        (57, (0).to_bytes(4, "big"), ErrorCode.INVALID_RECORD),
        (57, (2).to_bytes(4, "big"), ErrorCode.INVALID_RECORD),
    ],
)
def test_headers_that_can_not_be_are_refused(at, value, code):
    assert refused(changed(batch(), at, value)).error_code is code


@pytest.mark.parametrize("at", range(61, len(batch())))
def test_no_changed_byte_of_a_record_gets_past_with_another_shape(at):
    whole = batch()
    for value in (0x00, 0x01, 0x7F, 0x80, 0xFF):
        with suppress(AppendRefusedError):
            written = validate(changed(whole, at, bytes((value,))))
            assert [offset for offset, *_ in contents(written)] == [70, 71, 72]


@given(cut=st.integers(0, len(batch()) - 1))
def test_a_cut_off_batch_is_refused(cut):
    assert refused(batch()[:cut]).error_code is ErrorCode.INVALID_RECORD


def test_what_is_cut_off_behind_the_batch_is_dropped():
    assert len(validate(batch() + batch()[:50]).data) == len(batch())


def test_a_second_batch_is_refused():
    assert refused(batch() + batch()).error_code is ErrorCode.INVALID_RECORD


def test_sizes_are_bounded_before_and_after_compression():
    big = [Record(0, NOW, b"k", bytes(3000))]
    assert refused(batch(big), LogConfig(max_message_bytes=3000)).error_code is ErrorCode.MESSAGE_TOO_LARGE
    squeezed = batch(big, compression=Compression.GZIP)
    plain = LogConfig(max_message_bytes=3000, compression_type="uncompressed")
    assert refused(squeezed, plain).error_code is ErrorCode.MESSAGE_TOO_LARGE
    assert refused(batch(big), LogConfig(segment_bytes=3000)).error_code is ErrorCode.RECORD_LIST_TOO_LARGE


@pytest.mark.parametrize("codec", CODECS[1:])
def test_a_bomb_is_refused(codec):
    body = compress(codec, bytes(17 << 20))
    header = bytearray(batch(compression=codec)[:61])
    header[8:12] = (len(body) + 49).to_bytes(4, "big")
    bomb = changed(bytes(header) + body, 21, bytes((0, codec)))
    # Snappy is never so dense that it would be one: what comes out is looked at, and holds no records.
    error = ErrorCode.INVALID_RECORD if codec is Compression.SNAPPY else ErrorCode.MESSAGE_TOO_LARGE
    assert refused(bomb, LogConfig()).error_code is error


def test_records_at_fault_are_named():
    records = [Record(0, NOW - 11, b"k"), Record(1, NOW, None), Record(2, NOW + 21, b"k"), Record(3, -1, b"k")]
    limits = LogConfig(message_timestamp_before_max_ms=10, message_timestamp_after_max_ms=20)
    error = refused(batch(records), limits)
    assert error.error_code is ErrorCode.INVALID_TIMESTAMP
    assert [each.batch_index for each in error.record_errors] == [0, 2]
    error = refused(batch(records), LogConfig(cleanup_policy=frozenset(("compact",))))
    assert error.error_code is ErrorCode.INVALID_RECORD
    assert [each.batch_index for each in error.record_errors] == [1]


def test_a_producer_may_not_say_that_its_time_is_the_brokers():
    produced = batch(log_append_time=NOW)
    assert refused(produced, LogConfig(message_timestamp_type="LogAppendTime")).error_code is (
        ErrorCode.INVALID_TIMESTAMP
    )


def test_a_coordinator_writes_control_batches():
    marker = batch([Record(0, NOW, b"\0\0\0\1", b"\0\0\0\0\0\0")], is_control=True, base_offset=0)
    config = LogConfig(compression_type="gzip")
    assert bytes(validate(marker, config, origin=AppendOrigin.COORDINATOR).data)[16:] == marker[16:]


@pytest.mark.parametrize("config", [{}, {"compression_type": "gzip"}, {"message_timestamp_type": "LogAppendTime"}])
@pytest.mark.parametrize(
    "fields", [{}, {"compression": Compression.ZSTD}, {"producer_id": 7, "is_transactional": True}]
)
def test_a_batch_of_our_own_becomes_what_any_coordinators_becomes(config, fields):
    own = batch(**fields)
    written = validate(own, LogConfig(**config), origin=AppendOrigin.OWN)
    checked = validate(own, LogConfig(**config), origin=AppendOrigin.COORDINATOR)
    assert bytes(written.data) == bytes(checked.data)
    assert written.log_append_time_ms == checked.log_append_time_ms
    assert [each.base_offset for each in written.batches] == [70]


@pytest.mark.parametrize(
    ("limit", "code"),
    [("max_message_bytes", ErrorCode.MESSAGE_TOO_LARGE), ("segment_bytes", ErrorCode.RECORD_LIST_TOO_LARGE)],
)
def test_a_batch_of_our_own_may_not_be_too_large_either(limit, code):
    own = batch()
    assert refused(own, LogConfig(**{limit: len(own) - 1}), origin=AppendOrigin.OWN).error_code is code
    assert len(validate(own, LogConfig(**{limit: len(own)}), origin=AppendOrigin.OWN).data) == len(own)


def message(magic, key, value, *, offset=0, attributes=0, timestamp=NOW):
    body = struct.pack(">bB", magic, attributes) + (struct.pack(">q", timestamp) if magic else b"")
    for field in (key, value):
        body += struct.pack(">i", -1 if field is None else len(field)) + (field or b"")
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


@pytest.mark.parametrize("magic", [0, 1])
def test_old_messages_become_one_batch(magic):
    old = message(magic, b"a", b"1") + message(magic, None, None, offset=1)
    timestamp = NOW if magic else -1
    written = validate(old)
    assert contents(written) == [(70, timestamp, b"a", b"1", ()), (71, timestamp, None, None, ())]
    assert written.batches[0].leader_epoch == 4


@pytest.mark.parametrize("codec", CODECS[1:4])
@pytest.mark.parametrize("magic", [0, 1])
def test_compressed_old_messages_keep_their_codec(magic, codec):
    inner = message(magic, b"a", b"1") + message(magic, b"b", b"2", offset=1)
    written = validate(message(magic, None, compress(codec, inner), offset=1, attributes=codec))
    assert written.batches[0].compression is codec
    assert [key for _, _, key, *_ in contents(written)] == [b"a", b"b"]


def test_lz4_of_magic_0_may_have_the_wrong_checksum_that_it_always_had():
    frame = bytearray(compress(Compression.LZ4, message(0, b"a", b"1")))
    frame[6] ^= 0xFF
    assert contents(validate(message(0, None, bytes(frame), attributes=3)))[0][2] == b"a"
    assert refused(message(1, None, bytes(frame), attributes=3)).error_code is ErrorCode.INVALID_RECORD


def test_broken_old_messages_are_refused():
    whole = message(1, b"a", b"1")
    flipped = whole[:-1] + b"2"
    assert refused(flipped).error_code is ErrorCode.CORRUPT_MESSAGE
    assert refused(whole + message(0, b"a", b"1")).error_code is ErrorCode.INVALID_RECORD
    assert refused(message(1, None, b"", attributes=1)).error_code is ErrorCode.INVALID_RECORD
    twice = compress(Compression.GZIP, message(1, None, compress(Compression.GZIP, whole), attributes=1))
    assert refused(message(1, None, twice, attributes=1)).error_code is ErrorCode.INVALID_RECORD
    mixed = compress(Compression.GZIP, whole + message(0, b"a", b"1", offset=1))
    error = refused(message(1, None, mixed, attributes=1, offset=1))
    assert (error.error_code, [each.batch_index for each in error.record_errors]) == (ErrorCode.INVALID_RECORD, [1])


def test_timestamps_more_than_64_bits_apart_are_refused():
    """Where the topic has its own time they are not checked otherwise."""
    config = LogConfig(message_timestamp_type="LogAppendTime", compression_type="gzip")
    first, last = -(1 << 63), (1 << 63) - 1
    old = message(1, b"a", b"1", timestamp=first) + message(1, b"b", b"2", offset=1, timestamp=last)
    assert refused(old, config).error_code is ErrorCode.INVALID_RECORD
    head = batch([Record(0, 0, b"a", b"1"), Record(1, first, b"b", b"2"), Record(2, last, b"c", b"3")])
    without_first = batch([Record(0, 0, b"a", b"1"), Record(1, last, b"b", b"2")])
    assert [offset for offset, *_ in contents(validate(without_first, config))] == [70, 71]
    assert [offset for offset, *_ in contents(validate(head, config))] == [70, 71, 72]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("compression_type", ["producer", "zstd"])
def test_many_records_are_checked_in_slices_as_few_are(codec, compression_type):
    records = [
        Record(each, NOW + each % 7, b"key" * (each % 5), None, (("h", b""),) * (each % 3)) for each in range(5000)
    ]
    config = LogConfig(compression_type=compression_type)
    produced = batch(records, compression=codec)
    assert contents(validate(produced, config)) == expected(records)
    assert sum(1 for _ in checking(produced, config)) >= 3
    broken = changed(batch(records), 50_000, b"\xff\xff\xff\xff\xff")
    assert refused(broken, config).error_code is ErrorCode.INVALID_RECORD


def test_faults_are_named_until_there_are_a_thousand():
    records = [Record(each, NOW, None if each % 2 else b"k", b"v") for each in range(5000)]
    found = exhaust(checking(batch(records), LogConfig(cleanup_policy=frozenset(("compact",))))).batch
    assert found.error_code is ErrorCode.INVALID_RECORD
    assert [each.batch_index for each in found.record_errors] == list(range(1, 2000, 2))


def test_the_size_of_plain_records_alone_bounds_the_work():
    assert not is_old_or_compressed(batch())
    assert not is_old_or_compressed(b"")
    assert is_old_or_compressed(batch(compression=Compression.LZ4))
    assert is_old_or_compressed(message(1, b"a", b"1"))


def test_what_grows_much_waits_for_its_turn():
    produced = batch([Record(0, NOW, None, bytes(2 << 20))], compression=Compression.GZIP)
    turn, one, other = Turn(), SliceBudget(), SliceBudget()
    first, second = checking(produced, turn=turn, budget=one), checking(produced, turn=turn, budget=other)
    next(first)
    for _ in range(5):
        next(second)
    assert exhaust(first).latest == exhaust(second).latest == NOW
