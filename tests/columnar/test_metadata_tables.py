"""Metadata records as tables, against the row codec: real logs, any records, damaged and unknown ones."""

import msgspec
import pytest
from columnar_cases import log_of, metadata_files, metadata_logs, metadata_values
from hypothesis import given, settings
from hypothesis import strategies as st
from row_reference import metadata_rows

from falkirk.columnar import record_frames
from falkirk.columnar.metadata_tables import (
    METADATA_TABLES,
    OTHER,
    iter_metadata_tables,
)
from falkirk.columnar.other_records import KEY_FIELDS
from falkirk.columnar.report import ReadReport
from falkirk.columnar.schemas import UUID
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.json_form import to_json
from falkirk.protocol.messages import (
    METADATA_RECORDS,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionRecord,
    TopicRecord,
    message_class,
)
from falkirk.protocol.metadata_record import decode_metadata_record, encode_frame, encode_metadata_record
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import HEADER_BYTES, read_batches
from falkirk.protocol.varint import decode_varint

TYPED = frozenset(METADATA_TABLES) - {OTHER}
# Each example is a log of its own.
HALF = settings().max_examples // 2


def tables_of(data, *, report=None, **options):
    """All rows by table; there must be no problems if there is no report to hold them."""
    found = {table: [] for table in METADATA_TABLES}
    met = report or ReadReport()
    for table, batch in iter_metadata_tables(data, report=met, **options):
        assert batch.schema.equals(METADATA_TABLES[table], check_metadata=True)
        batch.validate(full=True)
        found[table] += batch.to_pylist()
    assert report or not met.problems
    return found


@pytest.mark.parametrize("name", metadata_files())
def test_real_logs_and_snapshots_are_read_as_by_the_row_codec(name):
    data = metadata_files()[name]
    report = ReadReport()
    assert tables_of(data, report=report) == metadata_rows(data, TYPED)
    assert report.problems == []
    assert report.records == sum(batch.record_count for batch in read_batches(data))
    assert sum(report.record_counts.values()) == report.records - report.control_records


@pytest.mark.slow
@settings(max_examples=HALF)
@given(metadata_logs())
def test_any_records_are_read_as_by_the_row_codec(data):
    wanted = metadata_rows(data, TYPED)
    assert tables_of(data) == wanted


@pytest.mark.slow
@settings(max_examples=HALF)
@given(metadata_logs(sorted(TYPED)))
def test_any_records_of_the_bulk_types_are_read_as_by_the_row_codec(data):
    wanted = metadata_rows(data, TYPED)
    assert tables_of(data) == wanted


@pytest.mark.parametrize("size", [0, 1, 126, 127, 128, 249, 16_383, 16_384, 32_767])
def test_names_of_any_length_are_read(size):
    record = ConfigRecord(2, "é" * (size // 2), "n" * size, "v" * size)
    data = log_of([encode_metadata_record(record, 0)] * 3)
    assert tables_of(data) == metadata_rows(data, TYPED)


@pytest.mark.parametrize("count", [0, 1, 126, 127, 128, 5000])
def test_lists_of_any_length_are_read(count):
    ints = tuple(range(count))
    record = PartitionRecord(0, bytes(16), ints, ints[:2], (), ints, 1, 1, 2, 3, (b"u" * 16,) * count, ints, ())
    data = log_of([encode_metadata_record(record, 2), encode_metadata_record(PartitionRecord(), 0)])
    assert tables_of(data) == metadata_rows(data, TYPED)


def test_unknown_tagged_fields_are_kept():
    plain = PartitionRecord(partition_id=1, replicas=(1, 2))
    tagged = PartitionRecord(partition_id=2, last_known_elr=(3,), unknown_tagged_fields=((9, b"x"), (300, b"")))
    values = [encode_metadata_record(record, 2) for record in (plain, tagged, plain, tagged)]
    rows = tables_of(log_of(values))["PartitionRecord"]
    assert [row["partition_id"] for row in rows] == [1, 2, 1, 2]
    assert [row["unknown_tagged_fields"] for row in rows[:2]] == [
        None,
        [{"tag": 9, "data": b"x"}, {"tag": 300, "data": b""}],
    ]
    assert rows == metadata_rows(log_of(values), TYPED)["PartitionRecord"]


def test_frames_may_be_written_longer_than_they_need():
    value = encode_metadata_record(TopicRecord("t", b"i" * 16), 0)
    long_frame = b"\x81\x00\x82\x80\x00\x80\x00" + value[3:]
    data = log_of([value, long_frame])
    assert tables_of(data) == metadata_rows(data, TYPED)


def refused(value):
    try:
        decode_metadata_record(value)
    except RemoteProtocolError as error:
        return error
    return None


@pytest.mark.slow
@settings(max_examples=HALF)
@given(st.data())
def test_damaged_records_are_refused_where_and_why_the_row_codec_refuses_them(data):
    rng = data.draw(st.randoms(use_true_random=False))
    drawn = data.draw(st.lists(metadata_values(sorted(TYPED)), min_size=1, max_size=8))
    values = [damaged(rng, encode_metadata_record(record, version)) for record, version in drawn]
    errors = [refused(value) for value in values]
    sound = [value for value, error in zip(values, errors, strict=True) if error is None]
    wanted = metadata_rows(log_of(sound), TYPED) if sound else {table: [] for table in METADATA_TABLES}
    log = log_of(values)
    starts = value_positions(log)
    bad = {
        (starts[index] + error.offset, error.reason + (f" in {error.path}" if error.path else ""))
        for index, error in enumerate(errors)
        if error is not None and not hasattr(error, "record_type")
    }
    report = ReadReport()
    found = tables_of(log, report=report)
    assert without_places(found) == without_places(wanted)
    told = {(each.position, each.reason) for each in report.problems if each.kind == "bad record"}
    assert told == bad
    unknown = sum(error is not None and hasattr(error, "record_type") for error in errors)
    assert sum(each.count for each in report.unknown.values()) == unknown


def damaged(rng, value):
    changed = bytearray(value)
    for _ in range(rng.choice([0, 1, 1, 2])):
        changed[rng.randrange(len(changed))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    return bytes(changed[: len(changed) - rng.choice([0, 0, 0, 1, 7])])


def without_places(tables):
    """The rows alone: where they stand depends on the damaged ones between them."""
    places = ("position", "offset")
    return {
        table: [{k: v for k, v in row.items() if k not in places} for row in rows] for table, rows in tables.items()
    }


def value_positions(log):
    """The byte of the file at which each record's value starts, found without the code under test."""
    (batch,) = read_batches(log)
    at = HEADER_BYTES
    found = []
    for record in batch.records():
        length, start = decode_varint(log, at)
        at = start + length
        # Behind the value stands the count of headers, one byte.
        found.append(at - 1 - len(record.value or b""))
    return found


def test_a_problem_names_the_byte_of_the_file():
    good = encode_metadata_record(TopicRecord("topic", bytes(16)), 0)
    bad = good[:4] + b"\xff" + good[5:]
    log = log_of([good, bad, good])
    report = ReadReport()
    found = tables_of(log, report=report, file_position=5000)
    assert [row["offset"] for row in found["TopicRecord"]] == [0, 2]
    (problem,) = report.problems
    assert (problem.kind, problem.offset) == ("bad record", 1)
    assert problem.position == 5000 + log.index(bad) + 4
    assert "UTF-8" in problem.reason


def test_in_a_compressed_batch_a_problem_names_the_byte_of_the_batch():
    from falkirk.protocol.compression import Compression

    first = log_of([encode_metadata_record(TopicRecord("a"), 0)])
    second = log_of([b"\x01\x02\x00"], base_offset=0, compression=Compression.GZIP)
    report = ReadReport()
    tables_of(first + second, report=report)
    assert [problem.position for problem in report.problems] == [len(first)]


@pytest.mark.parametrize("value", [None, b"", b"\x01", b"\x01\x02", b"\x02\x02\x00", b"\xff" * 9])
def test_values_without_a_frame_are_told(value):
    report = ReadReport()
    tables_of(log_of([value]), report=report)
    assert [problem.kind for problem in report.problems] == ["bad record"]


def test_unknown_types_and_versions_are_counted_and_named():
    topic = encode_metadata_record(TopicRecord("t"), 0)
    values = [encode_frame(77, 3), topic, encode_frame(3, 9), encode_frame(77, 3), encode_frame(2**31, 2**20), topic]
    report = ReadReport()
    found = tables_of(log_of(values), report=report)
    assert len(found["TopicRecord"]) == 2
    assert {key: (each.count, each.what) for key, each in report.unknown.items()} == {
        (77, 3): (2, "unknown metadata record type 77"),
        (3, 9): (1, "PartitionRecord has no version 9"),
        (2**31, 2**20): (1, "unknown metadata record type 2147483648"),
    }
    assert [problem.kind for problem in report.problems] == ["unknown record"] * 3


def test_types_that_nobody_wants_are_counted_all_the_same():
    data = log_of(
        [
            encode_metadata_record(TopicRecord("t"), 0),
            encode_metadata_record(FeatureLevelRecord("metadata.version", 30), 0),
        ]
    )
    report = ReadReport()
    wanted = iter_metadata_tables(data, tables=frozenset({"TopicRecord"}), report=report)
    assert [(table, batch.num_rows) for table, batch in wanted] == [("TopicRecord", 1)]
    assert report.record_counts == {("TopicRecord", 0): 1, ("FeatureLevelRecord", 0): 1}


def test_versions_of_one_type_keep_the_order_of_the_file():
    records = [PartitionRecord(partition_id=index, directories=()) for index in range(20)]
    values = [encode_metadata_record(record, record.partition_id * 7 % 3) for record in records]
    rows = tables_of(log_of(values))["PartitionRecord"]
    assert [row["partition_id"] for row in rows] == list(range(20))
    assert [row["record_version"] for row in rows] == [index * 7 % 3 for index in range(20)]


@pytest.mark.slow
def test_blocks_and_chunks_do_not_show_in_the_rows(monkeypatch):
    data = metadata_files()["cluster-4.4.0.tar.gz"]
    wanted = metadata_rows(data, TYPED)
    for rows_per_block in (7, 100):
        monkeypatch.setattr(record_frames, "_ROWS_PER_BLOCK", rows_per_block)
        assert tables_of(data) == wanted


def test_schemas_have_every_field_of_their_record_with_a_comment():
    for table, schema in METADATA_TABLES.items():
        assert [field.name for field in schema if not field.metadata[b"comment"]] == []
        if table != OTHER:
            cls = message_class(table)
            assert set(cls.__struct_fields__) <= set(schema.names)
            uuids = {field.attribute for field in cls.SCHEMA.fields if field.type == "uuid" and not field.is_array}
            assert {field.name for field in schema if field.type == UUID} == uuids


def test_key_fields_are_fields_of_their_records():
    others = set(METADATA_RECORDS.values()) - TYPED
    assert set(KEY_FIELDS) == others
    for name, fields in KEY_FIELDS.items():
        version = message_class(name).SCHEMA.info.versions.ranges[-1][1]
        form = to_json(message_class(name)(), version)
        assert set(fields) <= set(form), name


def test_other_records_have_their_json_form_and_key():
    data = log_of([encode_metadata_record(FeatureLevelRecord("metadata.version", 21), 0)])
    (row,) = tables_of(data)[OTHER]
    assert row["record_name"] == "FeatureLevelRecord"
    assert msgspec.json.decode(row["key"]) == {"name": "metadata.version"}
    assert msgspec.json.decode(row["json"]) == {"name": "metadata.version", "featureLevel": 21}


def test_control_records_are_no_rows():
    control = build_batch([Record(0, 5, bytes(4), bytes(6))], base_offset=0, is_control=True)
    report = ReadReport()
    assert all(not rows for rows in tables_of(control, report=report).values())
    assert (report.control_records, report.problems) == (1, [])
