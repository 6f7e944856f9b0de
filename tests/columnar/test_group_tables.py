"""Records of `__consumer_offsets` as tables, against the row codec."""

import pytest
from columnar_cases import consumer_offsets_files, group_records, log_of
from hypothesis import given, settings
from hypothesis import strategies as st
from row_reference import group_rows

from falkirk.columnar.group_tables import (
    GROUP_TABLES,
    iter_group_tables,
)
from falkirk.columnar.report import ReadReport
from falkirk.protocol.coordinator_record import encode_key, encode_value
from falkirk.protocol.messages import (
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)

# Each example is a log of its own.
HALF = settings().max_examples // 2


def tables_of(data, *, report=None, **options):
    """All rows by table; there must be no problems if there is no report to hold them."""
    found = {table: [] for table in GROUP_TABLES}
    met = report or ReadReport()
    for table, batch in iter_group_tables(data, report=met, **options):
        assert batch.schema.equals(GROUP_TABLES[table], check_metadata=True)
        batch.validate(full=True)
        found[table] += batch.to_pylist()
    assert report or not met.problems
    return found


def log(*pairs):
    return log_of([value for _, value in pairs], keys=[key for key, _ in pairs])


COMMIT = encode_key(OffsetCommitKey("g", "t", 3))


@pytest.mark.parametrize("release", ["3.7.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0"])
def test_real_segments_are_read_as_by_the_row_codec(release):
    data = consumer_offsets_files()[release]
    report = ReadReport()
    found = tables_of(data, report=report)
    assert found == group_rows(data)
    assert report.problems == []
    assert found["OffsetCommit"]
    assert found["group"]


@pytest.mark.slow
@settings(max_examples=HALF)
@given(st.lists(group_records(), min_size=1, max_size=12))
def test_any_records_are_read_as_by_the_row_codec(pairs):
    data = log(*pairs)
    wanted = group_rows(data)
    assert tables_of(data) == wanted


def test_every_version_of_an_offset_commit_is_read():
    value = OffsetCommitValue(offset=5, metadata="m", commit_timestamp=9)
    pairs = [(COMMIT, encode_value(value, version)) for version in range(5)]
    legacy = LegacyOffsetCommitValue(offset=6, metadata="", commit_timestamp=8)
    pairs += [(encode_key(LegacyOffsetCommitKey("old", "t", 0)), encode_value(legacy, 0)), (COMMIT, None)]
    rows = tables_of(log(*pairs))["OffsetCommit"]
    assert [row["value_version"] for row in rows] == [0, 1, 2, 3, 4, 0, None]
    assert [row["committed_offset"] for row in rows] == [5] * 5 + [6, None]
    assert [row["expire_timestamp"] for row in rows] == [-1] * 6 + [None]
    assert rows == group_rows(log(*pairs))["OffsetCommit"]


def test_unknown_tagged_fields_of_a_commit_are_kept():
    value = OffsetCommitValue(offset=5, unknown_tagged_fields=((7, b"new"),))
    (row,) = tables_of(log((COMMIT, encode_value(value, 4))))["OffsetCommit"]
    assert row["unknown_tagged_fields"] == [{"tag": 7, "data": b"new"}]


def test_groups_keep_their_value_as_bytes():
    value = encode_value(GroupMetadataValue(protocol_type="consumer"), 3)
    (row,) = tables_of(log((encode_key(GroupMetadataKey("g")), value)))["group"]
    assert (row["record_name"], row["group"], row["value_version"], row["value"]) == ("GroupMetadata", "g", 3, value)


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        (None, b"", "bad record"),
        (b"", b"", "bad record"),
        (b"\x00", None, "bad record"),
        (b"\x00\x63", b"\x00\x00", "unknown record"),
        (b"\xff\xff", b"\x00\x00", "unknown record"),
        (COMMIT[:-1], b"\x00\x00" + bytes(18), "bad record"),
        (COMMIT + b"x", b"\x00\x00" + bytes(18), "bad record"),
        (COMMIT, b"", "bad record"),
        (COMMIT, b"\x00", "bad record"),
        (COMMIT, b"\x00\x00", "bad record"),
        (COMMIT, b"\x00\x05" + bytes(18), "unknown record"),
        (COMMIT, b"\xff\xff" + bytes(18), "unknown record"),
        (encode_key(GroupMetadataKey("g")), b"\x00", "bad record"),
    ],
)
def test_what_does_not_parse_is_told_and_the_rest_is_read(key, value, kind):
    good = (COMMIT, encode_value(OffsetCommitValue(offset=1), 3))
    data = log(good, (key, value), good)
    report = ReadReport()
    found = tables_of(data, report=report, file_position=100)
    assert [row["offset"] for row in found["OffsetCommit"]] == [0, 2]
    assert found["group"] == []
    (problem,) = report.problems
    assert (problem.kind, problem.offset) == (kind, 1)
    assert 100 < problem.position < 100 + len(data)


def test_records_are_counted_by_name_and_version():
    value = encode_value(OffsetCommitValue(offset=1), 3)
    group = (encode_key(GroupMetadataKey("g")), encode_value(GroupMetadataValue(), 2))
    report = ReadReport()
    tables_of(log((COMMIT, value), (COMMIT, None), group, (COMMIT, value)), report=report)
    assert report.record_counts == {
        ("OffsetCommitValue", 3): 2,
        ("OffsetCommitValue", -1): 1,
        ("GroupMetadataValue", 2): 1,
    }


def test_every_column_says_what_it_is():
    for schema in GROUP_TABLES.values():
        assert [field.name for field in schema if not field.metadata[b"comment"]] == []
