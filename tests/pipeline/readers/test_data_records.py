"""Records of any partition as rows: equal to the row reader, with every codec, in ranges and as a whole."""

from datetime import UTC, datetime, timedelta

import pytest
from columnar_cases import all_files
from log_reading import ranges_of, read_log
from row_reference import record_rows

from falkirk.pipeline.readers.data_records import DATA_RECORDS, read_data_records
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.compression import Compression
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record import Record
from falkirk.storage.partition_directory import parse_partition_directory

LOG = "/d0/orders-3/00000000000000000000.log"


def expected_rows(path, data):
    """The rows by the row reader."""
    directory = parse_partition_directory(path.rpartition("/")[0].rpartition("/")[2])
    names = ("position", "offset", "epoch", "producer_id", "producer_epoch", "sequence", "is_control", "key", "value")
    out = []
    for row, _ in record_rows(data):
        found = {name: row[name] for name in names} | {
            "node_id": 1,
            "topic": directory and directory.topic,
            "partition": directory and directory.partition,
            "source": path,
            "timestamp": None
            if row["timestamp"] == -1
            else datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=row["timestamp"]),
            "is_transactional": bool(row["attributes"] & 0x10),
            "headers": row["headers"],
        }
        out.append({name: found[name] for name in DATA_RECORDS.schema.names})
    return sorted(out, key=lambda row: (row["position"], row["offset"]))


@pytest.mark.slow
def test_rows_of_real_logs_are_those_of_the_row_reader_in_any_ranges():
    read, topics, compressed = 0, set(), 0
    # tests/columnar reads every file; this is about ranges.
    for path, data in list(all_files().items())[::3]:
        if len(data) > 200_000:
            continue
        try:
            wanted = expected_rows(path, data)
        except RemoteProtocolError:
            continue
        assert read_log(read_data_records, path, data, **ranges_of(data)) == (wanted, []), path
        read += len(wanted)
        topics |= {row["topic"] for row in wanted}
        compressed += len({row["position"] for row in wanted}) < len(wanted)
    assert read > 5_000
    assert {"__consumer_offsets", "__transaction_state", None} < topics
    assert compressed > 3


@pytest.mark.parametrize("codec", list(Compression))
def test_records_of_every_codec_have_keys_values_and_headers(codec):
    headers = (("trace", b"\x01"), ("empty", None), ("trace", b""))
    records = [Record(5, 1000, b"k", b"v" * 100, headers), Record(6, 1001, None, None)]
    data = build_batch(
        records, base_offset=5, compression=codec, producer_id=9, producer_epoch=1, base_sequence=2**31 - 1
    )
    rows, problems = read_log(read_data_records, LOG, data)
    assert problems == []
    assert rows == expected_rows(LOG, data)
    assert [(row["topic"], row["partition"], row["sequence"]) for row in rows] == [
        ("orders", 3, 2**31 - 1),
        ("orders", 3, 0),
    ]
    assert [header["key"] for header in rows[0]["headers"]] == [b"trace", b"empty", b"trace"]
    assert rows[1]["headers"] == []


def test_damaged_compressed_bytes_are_told_at_their_batch():
    sound = build_batch([Record(0, 1000, None, b"v" * 500)], base_offset=0)
    damaged = bytearray(build_batch([Record(1, 1000, None, b"v" * 500)], base_offset=1, compression=Compression.ZSTD))
    damaged[70] ^= 0xFF
    rows, [problem] = read_log(read_data_records, LOG, sound + bytes(damaged) + sound)
    assert [row["position"] for row in rows] == [61, len(sound) + len(damaged) + 61]
    assert (problem["kind"], problem["position"], problem["offset"]) == ("corrupt batch", len(sound), 1)
