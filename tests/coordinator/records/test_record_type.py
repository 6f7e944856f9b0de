"""The table of record types against those of the releases."""

from coordinator_logs import TARGETS

from falkirk.coordinator.prediction.group_survey import key_group, key_type
from falkirk.coordinator.records.loader_rules import CoordinatorKind, loader_rules
from falkirk.coordinator.records.record_type import OFFSET_TYPES, PARTS, GroupRecordType, record_type_name
from falkirk.versions.release import Release


def test_every_type_of_every_release_has_its_name_and_its_part():
    for name in TARGETS:
        for type_, support in Release.parse(name).kraft.group_records.items():
            written = GroupRecordType(type_).name.replace("_", "").lower()
            assert support.key_name.lower() == f"{written}key" or type_ in OFFSET_TYPES
            assert type_ in PARTS or type_ in {0, 1, 2}


def test_every_type_that_a_loader_knows_has_a_schema_in_that_release():
    for name in TARGETS:
        release = Release.parse(name)
        assert loader_rules(release, CoordinatorKind.NEW).known_types <= release.kraft.group_records.keys()


def test_types_are_named_for_people():
    assert record_type_name(11) == "share group metadata (11)"
    assert record_type_name(99) == "unknown type (99)"
    assert record_type_name(None) == "no type"


def test_a_key_begins_with_its_type_and_its_group():
    assert (key_type(b"\0\x0b\0\1g"), key_group(b"\0\x0b\0\1g")) == (11, "g")
    assert [key_type(key) for key in (None, b"", b"\0")] == [None] * 3
    for key in (None, b"\0\1", b"\0\1\0\2g", b"\0\1\xff\xff", b"\0\x63\0\1g"):
        assert key_group(key) is None
