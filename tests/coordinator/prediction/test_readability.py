"""What the deserialisers of the releases take, skip and refuse."""

import pytest
from coordinator_logs import (
    OFFSETS_TOPIC,
    RELEASES,
    TARGETS,
    judged_logs,
    real_partitions,
)
from group_records import Log, offset_key, offset_value
from predictions import group_record_verdict

from falkirk.coordinator.prediction.verdict import READ, SKIPPED, Reading
from falkirk.coordinator.records.loader_rules import CoordinatorKind
from falkirk.coordinator.records.log_entry import LoggedRecord
from falkirk.versions.errors import IncompleteReleaseError
from falkirk.versions.release import Release

NEW = CoordinatorKind.NEW
ALL = [Release.parse(name) for name in TARGETS]
KAFKA_3, KAFKA_4_0, KAFKA_4_3 = (Release.parse(name) for name in ("3.9", "4.0", "4.3"))


@pytest.mark.parametrize("release", ALL, ids=str)
@pytest.mark.parametrize("version", range(4))
def test_every_release_reads_offset_commits_of_every_fixed_version(release, version):
    assert group_record_verdict(release, offset_key("g"), offset_value(version)) is READ
    assert group_record_verdict(release, offset_key("g"), offset_value(version)[:-1]).fails


@pytest.mark.parametrize("release", ALL, ids=str)
def test_bytes_left_over_are_ignored(release):
    assert group_record_verdict(release, offset_key("g") + b"more", offset_value() + b"more") is READ
    assert group_record_verdict(release, offset_key("g") + b"more", None) is READ


@pytest.mark.parametrize("release", ALL, ids=str)
@pytest.mark.parametrize("key", [None, b"", b"\0", b"\0\1", b"\0\1\0\5g", offset_key("g")[:-1], b"\0\1\xff\xff"])
def test_a_key_that_does_not_parse_fails_whatever_the_value(release, key):
    assert group_record_verdict(release, key, None).fails
    assert group_record_verdict(release, key, offset_value()).fails


@pytest.mark.parametrize("release", ALL, ids=str)
@pytest.mark.parametrize("type_", [-1, 18, 24, 32767])
def test_a_type_that_no_release_has_is_skipped_unread(release, type_):
    key = type_.to_bytes(2, "big", signed=True)
    assert group_record_verdict(release, key, None) is SKIPPED
    assert group_record_verdict(release, key + b"\xff", b"\xff") is SKIPPED


@pytest.mark.parametrize("release", ALL, ids=str)
def test_an_unknown_value_version_fails(release):
    for value in (b"\0\5" + offset_value()[2:], b"\xff\xff" + offset_value()[2:], b"", b"\0"):
        assert group_record_verdict(release, offset_key("g"), value).fails


def test_the_new_coordinator_of_kafka_3_reads_values_of_any_version():
    key = Log("3.9").classic("g").key
    newer = b"\0\x63" + bytes([1]) + bytes(4) + bytes(2) + bytes(8) + bytes([1, 0])
    assert group_record_verdict(KAFKA_3, key, newer, NEW) is READ
    assert group_record_verdict(KAFKA_3, key, newer).fails


def test_records_of_share_groups_are_skipped_by_3_9_and_of_another_layout_to_4_0():
    log = Log("4.4")
    record = log.value(11, "g", epoch=1, metadata_hash=0x7F00000000000000)
    assert group_record_verdict(KAFKA_3, record.key, record.value) is SKIPPED
    assert group_record_verdict(KAFKA_3, record.key, record.value, NEW) is SKIPPED
    verdict = group_record_verdict(KAFKA_4_0, record.key, record.value)
    assert "not a ShareGroupMetadataValue of Kafka 4.0.0" in verdict.reason
    assert group_record_verdict(KAFKA_4_3, record.key, record.value) is READ


def test_legacy_offsets_have_other_versions_since_4_3():
    key = b"\0\0" + offset_key("g")[2:]
    assert group_record_verdict(KAFKA_4_0, key, offset_value(3)) is READ
    assert group_record_verdict(KAFKA_4_3, key, offset_value(3)).fails
    assert group_record_verdict(KAFKA_4_3, key, offset_value(0)) is READ


def test_a_release_whose_coordinator_was_not_read_is_refused():
    with pytest.raises(IncompleteReleaseError, match=r"3\.6\.2"):
        group_record_verdict(Release.parse("3.6"), b"\0\3", None)


def test_each_release_reads_all_that_it_wrote_itself():
    for name in RELEASES:
        for entries in real_partitions(name, OFFSETS_TOPIC).values():
            for entry in entries:
                if isinstance(entry, LoggedRecord):
                    verdict = group_record_verdict(Release.parse(name), entry.key, entry.value, NEW)
                    assert verdict is READ, (name, entry, verdict)


@pytest.mark.slow
def test_alone_a_record_is_read_or_ends_as_kafka_said():
    for entries, verdicts in judged_logs():
        records = [entry for entry in entries if isinstance(entry, LoggedRecord)]
        for (release, kind), letters in verdicts.items():
            for record, letter in zip(records, letters.removesuffix("!"), strict=True):
                verdict = group_record_verdict(Release.parse(release), record.key, record.value, CoordinatorKind(kind))
                # One that is read may fail in the replay.
                assert verdict.reading == LETTERS[letter] or (verdict is READ and letter == "F"), (record, verdict)


LETTERS = {"R": Reading.READ, "S": Reading.SKIPPED, "F": Reading.FAILS}
