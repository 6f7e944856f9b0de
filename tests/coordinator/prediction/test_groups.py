"""What becomes of groups on the way to an older release."""

import pytest
from coordinator_logs import OFFSETS_TOPIC, TARGETS, judged_logs, real_partitions
from group_records import Log, member, offset_key
from predictions import failing_offsets, failing_partitions, surveyed_groups

from falkirk.coordinator.prediction.groups import (
    GroupLoss,
    GroupVerdict,
    LossKind,
    readable_groups,
)
from falkirk.coordinator.prediction.loading import PartitionLoad
from falkirk.coordinator.records.loader_rules import CoordinatorKind
from falkirk.coordinator.records.record_type import GroupType
from falkirk.versions.release import Release

READABLE, EMPTY, UNREADABLE = GroupVerdict.READABLE, GroupVerdict.APPEARS_EMPTY, GroupVerdict.UNREADABLE


def only_group(log, release, kind=None, *, is_tolerant=False):
    answer = readable_groups(Release.parse(release), {0: log.entries}, kind, is_tolerant=is_tolerant)
    (group,) = answer.groups
    return group


def losses(group):
    return {loss.kind.value: loss.count for loss in group.losses}


def test_a_classic_group_is_readable_everywhere():
    log = Log("4.4")
    log.commit("g")
    log.classic("g", "a", "b")
    for release in TARGETS:
        group = only_group(log, release)
        assert (group.type, group.members, group.committed_offsets) == (GroupType.CLASSIC, 2, 1)
        assert (group.verdict, group.losses) == (READABLE, ())


def test_a_consumer_group_appears_empty_to_kafka_3_and_keeps_its_offsets():
    log = Log("4.4")
    log.value(5, member("g"))
    log.commit("g", 0)
    log.commit("g", 1, producer=7)
    group = only_group(log, "3.9")
    assert (group.verdict, losses(group)) == (EMPTY, {"group": 1, "members": 1})
    assert (group.committed_offsets, group.pending_offsets) == (1, 1)
    assert only_group(log, "3.9", CoordinatorKind.NEW).verdict == READABLE
    assert only_group(log, "4.0").verdict == READABLE


def test_a_share_group_is_unreadable_to_kafka_3():
    log = Log("4.4")
    log.value(11, "g", epoch=1)
    log.value(10, member("g"))
    group = only_group(log, "3.9")
    assert (group.verdict, losses(group)) == (UNREADABLE, {"group": 1, "members": 1})


def test_a_streams_group_appears_empty_to_4_0():
    log = Log("4.4")
    log.value(17, "g", epoch=1)
    log.value(19, member("g"))
    log.commit("g")
    assert (only_group(log, "4.0").verdict, only_group(log, "4.3").verdict) == (EMPTY, READABLE)


def test_offsets_behind_the_tombstone_of_a_classic_group_that_became_a_streams_group_are_hidden():
    log = Log("4.4")
    log.commit("g")
    log.classic("g")
    deleted = log.tombstone(2, {"group": "g"})
    log.value(17, "g", epoch=1)
    group = only_group(log, "4.0")
    assert (group.verdict, losses(group)) == (UNREADABLE, {"group": 1, "committed_offsets": 1})
    assert group.hidden_by == deleted.offset
    assert only_group(log, "4.4").hidden_by is None
    # The old coordinator serves offsets without any group, and so does one that tolerates.
    assert only_group(log, "3.9").verdict == EMPTY
    tolerated = only_group(log, "4.0", is_tolerant=True)
    assert (tolerated.verdict, tolerated.hidden_by) == (EMPTY, None)
    log.commit("g")
    assert only_group(log, "4.0").verdict == EMPTY


def test_offsets_that_no_new_coordinator_serves_are_not_lost():
    log = Log("4.4")
    log.commit("g")
    log.tombstone(2, {"group": "g"})
    group = only_group(log, "4.0")
    assert (group.type, group.verdict, group.losses) == (GroupType.SIMPLE, READABLE, ())


def test_failing_records_are_named_with_partition_offset_type_group_and_reason():
    log = Log("4.4")
    log.commit("other")
    log.value(11, "g", epoch=1)
    log.value(15, "g")
    log.tombstone(15, "g")
    answer = readable_groups(Release.parse("4.0"), {3: log.entries, 5: Log().entries})
    assert [(each.partition, each.offset, each.type, each.group_id, each.is_tombstone) for each in answer.failing] == [
        (3, 2, 15, "g", False),
        (3, 3, 15, "g", True),
    ]
    assert all(each.reason for each in answer.failing)
    assert (failing_partitions(answer), failing_offsets(answer, 3), failing_offsets(answer, 5)) == ((3,), {2, 3}, set())
    verdicts = {group.group_id: (group.verdict, group.losses) for group in answer.groups}
    assert verdicts == {"other": (READABLE, ()), "g": (UNREADABLE, (GroupLoss(LossKind.RECORDS, 2),))}


def test_a_record_of_no_group_fails_without_one():
    log = Log()
    log.raw(None, b"")
    log.raw(b"\0", None)
    answer = readable_groups(Release.parse("3.7"), {0: log.entries})
    assert [(each.type, each.group_id) for each in answer.failing] == [(None, None), (None, None)]


def test_skipped_records_are_counted_by_type():
    log = Log("4.4")
    log.value(17, "g", epoch=1)
    log.value(17, "g", epoch=2)
    log.tombstone(11, "g")
    log.raw(b"\0\x63", None)
    assert readable_groups(Release.parse("3.7"), {0: log.entries}).skipped == {11: 1, 17: 2, 99: 1}


def test_what_stops_the_coordinator_at_the_end_goes_and_so_does_the_older_record_that_comes_back():
    log = Log("4.4")
    log.value(22, member("g"), member_epoch=1, state=2)
    log.value(22, member("g"), member_epoch=2, state=2)
    log.commit("g")
    answer = readable_groups(Release.parse("4.4"), {0: log.entries})
    assert failing_offsets(answer, 0) == {0, 1}
    assert readable_groups(Release.parse("4.4"), {0: log.entries}, is_tolerant=True).failing == ()


def test_what_a_release_cannot_replay_is_skipped_by_one_that_tolerates_and_what_does_not_parse_fails():
    log = Log("4.4")
    log.value(11, "g", epoch=1)
    log.value(15, "g")
    log.raw(log.key(3, {"group_id": "g"}), b"\0")
    answer = readable_groups(Release.parse("4.0"), {0: log.entries}, is_tolerant=True)
    assert (failing_offsets(answer, 0), answer.skipped) == ({2}, {15: 1})
    assert failing_offsets(readable_groups(Release.parse("4.0"), {0: log.entries}), 0) == {1, 2}


@pytest.mark.parametrize(
    ("source", "target", "failing"),
    [
        ("4.4.0", "4.3.1", []),
        ("4.4.0", "4.2.1", []),
        ("4.4.0", "4.1.1", []),
        ("4.4.0", "4.0.0", [144, 150, 172, 173, 179, 180]),
        ("4.4.0", "3.9.1", []),
        ("4.4.0", "3.8.1", []),
        ("4.4.0", "3.7.2", []),
        ("4.3.1", "4.0.0", [124, 128, 130, 134, 136, 147, 152, 167, 168]),
        ("4.3.1", "3.9.1", []),
        ("4.0.0", "3.7.2", []),
    ],
)
def test_of_a_real_cluster_these_records_have_to_go(source, target, failing):
    partitions = real_partitions(source, OFFSETS_TOPIC)
    answer = readable_groups(Release.parse(target), partitions)
    assert sorted(failing_offsets(answer, 0)) == failing
    assert failing_partitions(answer) == ((0,) if failing else ())
    offsets_served = {group.verdict for group in answer.groups if group.type is not GroupType.SHARE}
    assert offsets_served <= {READABLE, EMPTY}


@pytest.mark.slow
def test_without_the_failing_records_every_judged_log_loads():
    for entries, verdicts in judged_logs():
        for release, kind in verdicts:
            answer = readable_groups(Release.parse(release), {0: entries}, CoordinatorKind(kind))
            failing = failing_offsets(answer, 0)
            load = PartitionLoad(Release.parse(release), CoordinatorKind(kind))
            assert not [entry for entry in entries if entry.offset not in failing and load.replay(entry).fails]
            assert load.finish() == []


def test_a_survey_asks_no_release():
    log = Log("4.4")
    log.commit("simple")
    log.classic("classic", "a")
    log.classic("none", protocol_type="")
    log.value(5, member("consumer", "n"))
    log.value(5, member("consumer", "m"))
    log.value(5, member("consumer", "left"))
    log.tombstone(5, member("consumer", "left"))
    log.value(11, "share", epoch=1)
    log.value(19, member("streams"))
    log.commit("deleted")
    log.forget("deleted")
    groups = surveyed_groups(log.entries)
    assert {group_id: (group.type.value, group.members) for group_id, group in groups.items()} == {
        "simple": ("simple", 0),
        "classic": ("classic", 1),
        "none": ("simple", 0),
        "consumer": ("consumer", 2),
        "share": ("share", 0),
        "streams": ("streams", 1),
    }
    assert {group_id: group.member_ids for group_id, group in groups.items() if group.member_ids} == {
        "consumer": ("m", "n"),
        "streams": ("m",),
    }
    assert groups["simple"].committed == {offset_key("simple")[10:]}
