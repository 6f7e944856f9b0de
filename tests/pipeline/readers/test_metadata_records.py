"""Metadata records as rows: equal to the row codec and to real Kafka's own classes, in ranges and as a whole."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from columnar_cases import all_files, log_of
from log_reading import TINY, ranges_of, read_log, summed
from metadata_files import CLUSTERS, archive, json_file
from row_reference import metadata_rows

from falkirk.columnar.metadata_tables import METADATA_TABLES, OTHER
from falkirk.pipeline.readers.metadata_records import read_metadata_records
from falkirk.pipeline.tables.metadata_records import METADATA_RECORDS
from falkirk.protocol import messages
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.messages.config_record import ConfigRecord
from falkirk.protocol.messages.feature_level_record import FeatureLevelRecord
from falkirk.protocol.messages.partition_change_record import PartitionChangeRecord
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.protocol.record import Record
from falkirk.protocol.uuid import uuid_text

TYPED = {
    "PartitionRecord": "partition",
    "PartitionChangeRecord": "partition_change",
    "TopicRecord": "topic",
    "ConfigRecord": "config",
}
NUMBERS = {name: number for number, name in messages.METADATA_RECORDS.items()}
LOG = "/d0/__cluster_metadata-0/00000000000000000000.log"


def time(milliseconds):
    return None if milliseconds == -1 else datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=milliseconds)


def uuids(value):
    """Texts in place of 16 bytes."""
    if isinstance(value, bytes):
        return uuid_text(value)
    return [uuids(each) for each in value] if isinstance(value, list | tuple) else value


def expected_rows(path, data):
    """The rows by the row reader and the row codec."""
    out = []
    for table, rows in metadata_rows(data, frozenset(METADATA_TABLES) - {OTHER}).items():
        for row in rows:
            found = dict.fromkeys(METADATA_RECORDS.schema.names) | {
                "node_id": 1,
                "source": path,
                "is_snapshot": path.endswith(".checkpoint"),
                "timestamp": time(row["timestamp"]),
            }
            found |= {name: row[name] for name in ("position", "offset", "epoch", "record_version")}
            if table == OTHER:
                found |= {name: row[name] for name in ("record_type", "record_name", "key", "json")}
                found["unknown_tagged_fields"] = row["unknown_tagged_fields"]
            else:
                fields = {field.name for field in METADATA_RECORDS.schema.field(TYPED[table]).type}
                struct = {name: uuids(row[name]) for name in fields}
                if table == "PartitionChangeRecord":
                    struct["leader"] = None if struct["leader"] == -2 else struct["leader"]
                    state = struct["leader_recovery_state"]
                    struct["leader_recovery_state"] = None if state == -1 else state
                tags = [{"path": ""} | tag for tag in row["unknown_tagged_fields"] or ()]
                found |= {"record_type": NUMBERS[table], "record_name": table, TYPED[table]: struct}
                found["unknown_tagged_fields"] = tags or None
            out.append(found)
    return sorted(out, key=lambda row: (row["position"], row["offset"]))


@pytest.mark.slow
def test_rows_of_real_logs_are_those_of_the_row_codec_in_any_ranges():
    read, snapshots = 0, set()
    # tests/columnar reads every file; this is about columns and ranges.
    for path, data in list(all_files().items())[::3]:
        if path.startswith("dump/") or not (path.endswith(".checkpoint") or "__cluster_metadata" in path):
            continue
        whole = read_log(read_metadata_records, path, data)
        assert whole == (expected_rows(path, data), []), path
        assert read_log(read_metadata_records, path, data, **ranges_of(data)) == whole, path
        read += len(whole[0])
        snapshots |= {row["is_snapshot"] for row in whole[0]}
    assert read > 3_000
    assert snapshots == {True, False}


@pytest.mark.parametrize("release", CLUSTERS)
def test_snapshots_have_the_records_that_kafkas_own_classes_read(release):
    decoded = json_file(f"cluster-{release}.decoded.json.gz")
    files = {path.rpartition("/")[2]: data for path, data in archive(f"cluster-{release}.tar.gz").items()}
    compared = 0
    for name, records in decoded.items():
        rows, problems = read_log(read_metadata_records, f"/d/{name}", files[name], split_bytes=TINY)
        assert problems == []
        assert [(row["record_name"], row["record_version"]) for row in rows] == [(name, at) for name, at, _ in records]
        for row, (record, _, fields) in zip(rows, records, strict=True):
            assert kafka_fields(row, record, fields) == fields
            compared += 1
    assert compared > 50


def kafka_fields(row, record, wanted):
    """A row in Kafka's JSON form; of the typed ones the fields that the version has."""
    if row["json"] is not None:
        return sorted_lists(msgspec.json.decode(row["json"]), wanted)
    struct = {camel(name): value for name, value in row[TYPED[record]].items()}
    return {name: struct[name] for name in wanted}


def sorted_lists(found, wanted):
    """Kafka has features and listeners in the order of a hash."""
    for name, value in found.items():
        if isinstance(value, list) and sorted(map(str, value)) == sorted(map(str, wanted[name])):
            found[name] = wanted[name]
    return found


def camel(name):
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def test_control_batches_give_no_rows():
    files = archive("cluster-4.3.1.tar.gz")
    name, data = next((path, data) for path, data in files.items() if path.endswith("01.checkpoint"))
    rows, _ = read_log(read_metadata_records, name, data)
    # The header stands at offset 0.
    assert rows[0]["offset"] > 0
    assert {row["record_name"] for row in rows} <= set(messages.METADATA_RECORDS.values())


def test_as_before_in_a_change_is_null():
    change = PartitionChangeRecord(partition_id=3, topic_id=bytes(16), isr=(1, 2))
    [row], _ = read_log(read_metadata_records, LOG, log_of([encode_metadata_record(change, 0)]))
    found = row["partition_change"]
    assert (found["leader"], found["leader_recovery_state"], found["replicas"], found["directories"]) == (None,) * 4
    assert found["isr"] == [1, 2]
    gone = PartitionChangeRecord(partition_id=3, topic_id=bytes(16), leader=-1, leader_recovery_state=0)
    [row], _ = read_log(read_metadata_records, LOG, log_of([encode_metadata_record(gone, 0)]))
    assert (row["partition_change"]["leader"], row["partition_change"]["leader_recovery_state"]) == (-1, 0)


def test_tagged_fields_that_no_release_has_keep_their_bytes():
    config = ConfigRecord(resource_type=2, resource_name="t", name="n", value="v")
    config.unknown_tagged_fields = ((77, b"xyz"),)
    feature = FeatureLevelRecord(name="f", feature_level=1)
    feature.unknown_tagged_fields = ((5, b""),)
    rows, _ = read_log(
        read_metadata_records, LOG, log_of([encode_metadata_record(config, 0), encode_metadata_record(feature, 0)])
    )
    assert [row["unknown_tagged_fields"] for row in rows] == [
        [{"path": "", "tag": 77, "data": b"xyz"}],
        [{"path": "", "tag": 5, "data": b""}],
    ]


def test_no_time_is_null():
    value = encode_metadata_record(FeatureLevelRecord(name="f", feature_level=1), 0)
    [row], _ = read_log(read_metadata_records, LOG, build_batch([Record(0, -1, None, value)], base_offset=0))
    assert row["timestamp"] is None


def sound_log(count):
    """Batches of one record each."""
    records = [FeatureLevelRecord(name=f"feature-{index}", feature_level=index) for index in range(count)]
    return [one(index, encode_metadata_record(record, 0)) for index, record in enumerate(records)]


def one(offset, value):
    return build_batch([Record(offset, 1000, None, value)], base_offset=offset)


@pytest.mark.parametrize("split_bytes", [None, 1, 300])
def test_damage_is_told_at_its_byte_and_all_sound_rows_are_there(split_bytes):
    batches = sound_log(12)
    flipped = bytearray(batches[3])
    flipped[-1] ^= 1
    unknown = [one(5, b"\x01\x7f\x00"), one(6, b"\x01\x7f\x00"), one(7, b"\x01\x0c\x63")]
    bad = one(8, b"\x01\x0c\x00\x7f")
    parts = [*batches[:3], bytes(flipped), batches[4], *unknown, bad, *batches[9:], batches[0][:70]]
    at = [sum(map(len, parts[:index])) for index in range(len(parts) + 1)]
    data = b"".join(parts)
    rows, problems = read_log(read_metadata_records, LOG, data, split_bytes=split_bytes, chunk_bytes=200)
    assert [row["offset"] for row in rows] == [0, 1, 2, 4, 9, 10, 11]
    found = sorted((each["position"], each["offset"], each["kind"], each["count"]) for each in summed(problems))
    value_at = len(one(5, b"abc")) - 4
    assert [each for each in found if each[2] != "bad record"] == [
        (at[3], 3, "corrupt batch", 1),
        (at[5] + value_at, 5, "unknown record", 2),
        (at[7] + value_at, 7, "unknown record", 1),
        (at[12], None, "torn tail", 1),
    ]
    [(position, offset)] = [each[:2] for each in found if each[2] == "bad record"]
    assert at[8] < position < at[9]
    assert offset == 8
    unknown = {each["detail"] for each in problems if each["kind"] == "unknown record"}
    assert unknown == {"unknown metadata record type 127", "FeatureLevelRecord has no version 99"}
    assert {each["source"] for each in problems} == {LOG}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"#!/bin/sh\n" * 20, "batch has magic"),
        (b"PAR1" * 50, "batch has magic 80"),
        (b"\x00" * 16 + b"\x01" + b"\x7f" * 100, "message set of magic 1 (before Kafka 0.11) is not supported"),
    ],
)
def test_a_file_that_is_no_log_is_one_problem(data, reason):
    rows, [problem] = read_log(read_metadata_records, LOG, data, split_bytes=50)
    assert rows == []
    assert problem["kind"] == "unreadable file"
    assert problem["detail"].startswith(f"no log of Kafka, or damaged at its very beginning: {reason}")


def test_an_empty_file_has_neither_rows_nor_problems():
    assert read_log(read_metadata_records, LOG, b"", split_bytes=10) == ([], [])
