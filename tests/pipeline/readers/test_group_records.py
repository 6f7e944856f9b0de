"""Records of `__consumer_offsets` as rows: equal to the row codec, in ranges and as a whole, damaged ones too."""

from datetime import UTC, datetime, timedelta

import pytest
from columnar_cases import all_files, group_records
from hypothesis import given, settings
from hypothesis import strategies as st
from log_reading import ranges_of, read_log, summed
from row_reference import record_rows

from falkirk.pipeline.readers.group_records import read_group_records
from falkirk.pipeline.tables.groups import GROUP_RECORDS, OFFSET_COMMIT_TYPE
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.compression import Compression
from falkirk.protocol.control_record import ControlRecordType, encode_control_record
from falkirk.protocol.coordinator_record import (
    decode_key,
    decode_value,
    encode_key,
    encode_value,
)
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.json_form import unknown_tags_of
from falkirk.protocol.messages import GROUP_COORDINATOR_KEYS, GROUP_COORDINATOR_VALUES
from falkirk.protocol.messages.end_txn_marker import EndTxnMarker
from falkirk.protocol.messages.group_metadata_key import GroupMetadataKey
from falkirk.protocol.messages.group_metadata_value import GroupMetadataValue
from falkirk.protocol.messages.offset_commit_key import OffsetCommitKey
from falkirk.protocol.messages.offset_commit_value import OffsetCommitValue
from falkirk.protocol.record import Record
from falkirk.protocol.uuid import uuid_text
from falkirk.versions.layouts import LAYOUT_STARTS

LOG = "/d0/__consumer_offsets-7/00000000000000000000.log"
# Each example is a log of its own.
HALF = settings().max_examples // 2


def time(milliseconds):
    if milliseconds == -1:
        return None
    try:
        return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None


def int16(data, at=0):
    return None if data is None or len(data) < at + 2 else int.from_bytes(data[at : at + 2], "big", signed=True)


def expected_rows(path, data):
    """The rows by the row reader and the row codec."""
    directory = path.rpartition("/")[0].rpartition("/")[2]
    out = []
    for row, record in record_rows(data):
        found = dict.fromkeys(GROUP_RECORDS.schema.names)
        found |= {name: row[name] for name in ("position", "offset", "epoch", "producer_id", "producer_epoch")}
        found |= {
            "node_id": 1,
            "partition": int(directory.rpartition("-")[2]),
            "source": path,
            "timestamp": time(row["timestamp"]),
            "is_transactional": bool(row["attributes"] & 0x10),
            "key": record.key,
            "value": record.value,
        }
        if row["is_control"]:
            found["control_type"] = int16(record.key, 2)
        else:
            found |= typed(record)
        out.append(found)
    return sorted(out, key=lambda row: (row["position"], row["offset"]))


def typed(record):
    """What the key and the value tell."""
    type_ = int16(record.key)
    name = GROUP_COORDINATOR_KEYS.get(type_, "").removesuffix("Key") or None
    found = {"record_type": type_, "record_name": name, "value_version": int16(record.value)}
    try:
        key = decode_key(GROUP_COORDINATOR_KEYS, record.key or b"")
        tags = unknown_tags(type_, record.value)
    except RemoteProtocolError:
        if type_ is not None and type_ > 1 and found["value_version"] is not None:
            try:
                key = decode_key(GROUP_COORDINATOR_KEYS, record.key)
            except RemoteProtocolError:
                return found
            found["group"] = group_of(key)
        return found
    found |= {"group": group_of(key), "unknown_tags": tags}
    if type_ < 2:
        value = None if record.value is None else decode_value(GROUP_COORDINATOR_VALUES, type_, record.value)[0]
        found["offset_commit"] = commit(key, value)
    return found


def group_of(key):
    return getattr(key, "group", "") or getattr(key, "group_id", "")


def unknown_tags(type_, value):
    """The fewest that any layout of the value leaves."""
    if value is None:
        return 0
    starts = LAYOUT_STARTS.get(GROUP_COORDINATOR_VALUES[type_])
    counts, error = [], None
    for layout in range(len(starts)) if starts else [None]:
        try:
            message, version = decode_value(GROUP_COORDINATOR_VALUES, type_, value, layout=layout)
            counts.append(len(unknown_tags_of(message, version, layout=layout)))
        except RemoteProtocolError as refused:
            error = refused
    if not counts:
        raise error
    return min(counts)


def commit(key, value):
    found = dict.fromkeys(OFFSET_COMMIT_TYPE.field(index).name for index in range(OFFSET_COMMIT_TYPE.num_fields))
    found |= {"topic": key.topic, "partition": key.partition}
    if value is None:
        return found
    topic_id = getattr(value, "topic_id", bytes(16))
    return found | {
        "committed_offset": value.offset,
        "leader_epoch": getattr(value, "leader_epoch", -1),
        "metadata": value.metadata,
        "commit_timestamp": time(value.commit_timestamp),
        "expire_timestamp": time(getattr(value, "expire_timestamp", -1)),
        "topic_id": None if topic_id == bytes(16) else uuid_text(topic_id),
    }


@pytest.mark.slow
def test_rows_of_every_partition_are_those_of_the_row_codec_in_any_ranges():
    read, names, controls = 0, set(), set()
    for path, data in all_files().items():
        if "__consumer_offsets-" not in path or path.startswith("dump/"):
            continue
        whole = read_log(read_group_records, path, data)
        assert whole == (expected_rows(path, data), []), path
        assert read_log(read_group_records, path, data, **ranges_of(data)) == whole, path
        read += len(whole[0])
        names |= {row["record_name"] for row in whole[0]}
        controls |= {row["control_type"] for row in whole[0]}
    assert read > 1500
    assert len(names) > 15
    assert controls == {None, 1}


@pytest.mark.slow
@settings(max_examples=HALF)
@given(st.lists(group_records(), min_size=1, max_size=12), st.sampled_from(list(Compression)))
def test_rows_of_any_records_are_those_of_the_row_codec(drawn, codec):
    records = [Record(offset, 1000 + offset, key, value) for offset, (key, value) in enumerate(drawn)]
    data = build_batch(records, base_offset=0, compression=codec)
    rows, problems = read_log(read_group_records, LOG, data)
    assert rows == expected_rows(LOG, data)
    assert {problem["kind"] for problem in problems} <= {"bad record"}


KEYS = st.one_of(st.none(), st.binary(max_size=12), group_records().map(lambda pair: pair[0]))
VALUES = st.one_of(st.none(), st.binary(max_size=12), group_records().map(lambda pair: pair[1]))


@pytest.mark.slow
@settings(max_examples=HALF)
@given(st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=12))
def test_any_bytes_give_a_row_each_with_key_and_value(pairs):
    records = [Record(offset, 1000, key, value) for offset, (key, value) in enumerate(pairs)]
    rows, problems = read_log(read_group_records, LOG, build_batch(records, base_offset=0))
    assert [(row["key"], row["value"]) for row in rows] == pairs
    assert [row["record_type"] for row in rows] == [int16(key) for key, _ in pairs]
    told = sum(problem["count"] for problem in problems)
    assert told == sum(is_unreadable(key, value) for key, value in pairs)


def is_unreadable(key, value):
    try:
        type_ = type(decode_key(GROUP_COORDINATOR_KEYS, key or b"")).SCHEMA.info.key
        unknown_tags(type_, value)
    except RemoteProtocolError:
        return True
    return False


COMMIT = encode_key(OffsetCommitKey(group="g", topic="t", partition=3))
COMMITTED = OffsetCommitValue(offset=42, leader_epoch=-1, metadata="m", commit_timestamp=1000, topic_id=bytes(16))


def rows_of(*pairs, **options):
    records = [Record(offset, 1000, key, value) for offset, (key, value) in enumerate(pairs)]
    return read_log(read_group_records, LOG, build_batch(records, base_offset=0, **options))


def test_a_commit_and_its_tombstone_have_the_same_columns():
    (commit_row, tombstone), _ = rows_of((COMMIT, encode_value(COMMITTED, 3)), (COMMIT, None))
    assert commit_row["offset_commit"] == {
        "topic": "t",
        "partition": 3,
        "committed_offset": 42,
        "leader_epoch": -1,
        "metadata": "m",
        "commit_timestamp": time(1000),
        "expire_timestamp": None,
        "topic_id": None,
    }
    assert (commit_row["group"], commit_row["partition"], commit_row["record_name"]) == ("g", 7, "OffsetCommit")
    nothing = dict.fromkeys(commit_row["offset_commit"]) | {"topic": "t", "partition": 3}
    assert tombstone["offset_commit"] == nothing
    assert (tombstone["value"], tombstone["value_version"], tombstone["unknown_tags"]) == (None, None, 0)


def test_unknown_types_and_versions_are_rows_with_their_bytes_and_counted_problems():
    group = encode_key(GroupMetadataKey(group="g"))
    rows, problems = rows_of(
        (b"\x00\x63abc", b"\x00\x00xyz"),
        (b"\x00\x63abd", None),
        (COMMIT, b"\x00\x63"),
        (group, b"\x00\x63xyz"),
        (group, encode_value(GroupMetadataValue(protocol_type="consumer"), 3)),
    )
    assert [(row["record_type"], row["record_name"]) for row in rows] == [
        (99, None),
        (99, None),
        (1, "OffsetCommit"),
        (2, "GroupMetadata"),
        (2, "GroupMetadata"),
    ]
    assert [row["value_version"] for row in rows] == [0, None, 99, 99, 3]
    assert [row["group"] for row in rows] == [None, None, None, "g", "g"]
    assert [row["unknown_tags"] for row in rows] == [None, None, None, None, 0]
    assert {(each["detail"], each["count"]) for each in problems} == {
        ("coordinator record type 99 is unknown", 2),
        ("coordinator record type 1 has no value version 99", 1),
        ("coordinator record type 2 has no value version 99", 1),
    }
    assert {each["kind"] for each in problems} == {"unknown record"}


def test_a_transaction_and_its_marker_have_producer_and_kind():
    key, value = encode_control_record(ControlRecordType.COMMIT, EndTxnMarker(coordinator_epoch=5))
    producer = {"producer_id": 11, "producer_epoch": 2, "is_transactional": True}
    data = build_batch(
        [Record(0, 1000, COMMIT, encode_value(COMMITTED, 3))], base_offset=0, base_sequence=0, **producer
    )
    data += build_batch([Record(1, 1000, key, value)], base_offset=1, is_control=True, **producer)
    (pending, marker), problems = read_log(read_group_records, LOG, data)
    assert problems == []
    assert (pending["producer_id"], pending["producer_epoch"], pending["is_transactional"]) == (11, 2, True)
    assert (pending["control_type"], marker["control_type"]) == (None, 1)
    assert (marker["record_type"], marker["group"], marker["key"], marker["value"]) == (None, None, key, value)


@pytest.mark.parametrize("split_bytes", [None, 1])
def test_damage_is_told_at_its_byte_and_all_sound_rows_are_there(split_bytes):
    sound = [
        build_batch([Record(offset, 1000, COMMIT, encode_value(COMMITTED, 3))], base_offset=offset)
        for offset in range(5)
    ]
    flipped = bytearray(sound[2])
    flipped[-1] ^= 1
    data = sound[0] + sound[1] + bytes(flipped) + sound[3] + sound[4][:-3]
    rows, problems = read_log(read_group_records, LOG, data, split_bytes=split_bytes, chunk_bytes=300)
    size = len(sound[0])
    assert [row["offset"] for row in rows] == [0, 1, 3]
    assert [(each["kind"], each["position"]) for each in summed(problems)] == [
        ("corrupt batch", 2 * size),
        ("torn tail", 4 * size),
    ]


def test_a_bad_commit_between_sound_ones_is_a_row_without_its_fields():
    value = encode_value(COMMITTED, 3)
    rows, [problem] = rows_of((COMMIT, value), (COMMIT, value[:-2]), (COMMIT, value))
    assert [row["offset_commit"] is None for row in rows] == [False, True, False]
    assert [row["value"] for row in rows] == [value, value[:-2], value]
    assert (problem["kind"], problem["offset"]) == ("bad record", 1)


def test_a_value_that_no_layout_reads_is_told_with_the_byte_where_reading_ends():
    group = encode_key(GroupMetadataKey(group="g"))
    [row], [problem] = rows_of((group, b"\x00\x03\x00"))
    assert (row["group"], row["unknown_tags"], row["value"]) == ("g", None, b"\x00\x03\x00")
    assert problem["kind"] == "bad record"
    assert problem["detail"].endswith(" of the value of a GroupMetadata record")


def test_tagged_fields_that_no_release_has_are_counted():
    value = OffsetCommitValue(offset=1, metadata="", commit_timestamp=1, topic_id=bytes(16))
    value.unknown_tagged_fields = ((70, b"a"), (71, b"b"))
    [row], problems = rows_of((COMMIT, encode_value(value, 4)))
    assert row["unknown_tags"] == 2
    assert problems == []
