import struct

import pytest
from dump_files import dump_file

from falkirk.dump.log_reader import LogReader, is_valid_batch, records_of
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.compression import Compression
from falkirk.protocol.record import Record
from falkirk.storage.errors import CorruptFileError

FILE = "00000000000000000000.log"


def batch(offset, *, count=3, codec=Compression.NONE):
    records = [Record(offset + index, 1000, b"key", b"value") for index in range(count)]
    return build_batch(records, base_offset=offset, compression=codec)


def reader(data, **options):
    return LogReader(memoryview(bytes(data)), file=FILE, **options)


def with_length(data, length):
    return data[:8] + struct.pack(">i", length) + data[12:]


def ended(items, into=None):
    """Return the error that ends an iteration; what comes before it goes `into` a list."""
    with pytest.raises(CorruptFileError) as caught:
        ([] if into is None else into).extend(items)
    return caught.value


def read(data, **options):
    """Return the base offsets of the batches, and what is said of the tail."""
    log = reader(data, **options)
    return [found.base_offset for found in log], log.torn()


def test_batches_are_given_whether_their_crc_fits_or_not():
    data = bytearray(batch(0) + batch(3))
    data[-1] ^= 1
    found = list(reader(data))
    assert [(each.base_offset, is_valid_batch(each)) for each in found] == [(0, True), (3, False)]


@pytest.mark.parametrize("left", [1, 16, 17])
def test_a_tail_without_a_whole_start_of_a_header_is_torn(left):
    data = batch(0)
    torn = f"torn at byte {len(data)} of {len(data) + left}: {left} bytes are left, a batch has a header of 61"
    assert read(data + batch(3)[:left]) == ([0], torn)


def test_a_batch_that_is_cut_off_is_torn():
    data, last = batch(0), batch(3)
    torn = f"torn at byte {len(data)} of {len(data) + 40}: batch of offset 3 takes {len(last)} bytes, 40 are left"
    assert read(data + last[:40]) == ([0], torn)


def test_no_more_bytes_are_read_than_are_asked_for():
    data = batch(0) + batch(3) + batch(6)
    assert read(data, bytes_max=len(batch(0)) + 70)[0] == [0]
    assert read(data, bytes_max=len(batch(0)) * 2)[0] == [0, 3]
    assert read(data, position=len(batch(0)))[0] == [3, 6]


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        (bytes(100), "torn at byte 106 of 206: 100 bytes are left that begin with zeros, as in a preallocated file"),
        (with_length(batch(3), 13), "batch of offset 3 declares a length of 13 bytes, 49 are the least"),
        (with_length(batch(3), -1), "batch of offset 3 declares a length of -1 bytes, 49 are the least"),
        (batch(3)[:16] + b"\x01" + batch(3)[17:], "message set of magic 1 (before Kafka 0.11) at offset 3 is not supp"),
        (batch(3)[:16] + b"\xff" + batch(3)[17:], "batch of offset 3 has magic 255, 2 was expected"),
    ],
    ids=["zeros", "short", "negative", "old magic", "negative magic"],
)
def test_what_is_no_batch_ends_the_reading_with_its_place(tail, reason):
    data = batch(0)
    assert len(data) == 106
    log = reader(data + tail)
    error = ended(log)
    assert error.reason.startswith(reason)
    assert (error.file, error.offset, log.position) == (FILE, 106, 106)


def test_a_batch_shorter_than_its_header_has_no_records():
    data = with_length(batch(0), 30) + batch(3)
    log = iter(reader(data))
    found = next(log)
    assert (found.size, is_valid_batch(found)) == (42, False)
    assert ended(records_of(found, FILE)).offset == 0


def test_records_before_one_that_does_not_parse_are_given():
    data = bytearray(batch(0))
    data[61 + 2 * 15] = 0x7E  # the third record's size
    [damaged] = reader(data)
    found = []
    error = ended(records_of(damaged, FILE), into=found)
    assert [record.offset for record in found] == [0, 1]
    assert error.reason == "record declares 63 bytes where 14 are left, batch of offset 0"
    assert (error.file, error.offset) == (FILE, 91)


def test_of_a_compressed_batch_all_records_are_given_or_none():
    data = bytearray(batch(0, codec=Compression.GZIP))
    data[57:61] = (4).to_bytes(4, "big")
    data[23:27] = (3).to_bytes(4, "big")
    [found] = reader(data)
    records = []
    error = ended(records_of(found, FILE), into=records)
    assert records == []
    assert error.reason.endswith("batch of offset 0, byte 45 of its uncompressed records")


def test_a_record_behind_its_batch_is_given():
    data = bytearray(batch(0))
    data[23:27] = (2).to_bytes(4, "big")
    data[0:8] = (5).to_bytes(8, "big")
    data[23:27] = bytes(4)
    [found] = reader(data)
    assert found.last_offset == 5
    assert [record.offset for record in records_of(found, FILE)] == [5, 6, 7]


@pytest.mark.parametrize("count", [-1, -(2**31)])
def test_a_negative_count_is_no_empty_batch(count):
    data = bytearray(batch(0))
    data[57:61] = count.to_bytes(4, "big", signed=True)
    [found] = reader(data)
    assert "batch of offset 0" in ended(records_of(found, FILE)).reason


def test_real_logs_are_read_to_their_end():
    data = dump_file("4.3.1/meta/00000000000000000000.log")
    log = reader(data)
    assert all(map(is_valid_batch, log))
    assert (log.position, log.torn()) == (len(data), None)
