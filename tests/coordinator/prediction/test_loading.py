"""Stories of partitions that load, or do not, under one release or another."""

import pytest
from coordinator_logs import OFFSETS_TOPIC, RELEASES, all_real_partitions, judged_logs, real_partitions
from group_records import Log, member, offset_key, offset_value

from falkirk.coordinator.prediction.loading import LoadedGroup, PartitionLoad
from falkirk.coordinator.prediction.verdict import SKIPPED
from falkirk.coordinator.records.loader_rules import CoordinatorKind
from falkirk.coordinator.records.log_entry import LoggedRecord
from falkirk.coordinator.records.record_type import GroupType
from falkirk.versions.release import Release

OLD, NEW = CoordinatorKind.OLD, CoordinatorKind.NEW
TOPIC = bytes(range(16))


def loaded(log, release="4.4", kind=None):
    """Replay all of a log that has to be read without a failure."""
    load = PartitionLoad(Release.parse(release), kind)
    verdicts = {entry.offset: load.replay(entry) for entry in log.entries}
    assert not any(verdict.fails for verdict in verdicts.values()), verdicts
    return load


def failures(log, release, kind=None):
    load = PartitionLoad(Release.parse(release), kind)
    verdicts = ((entry.offset, load.replay(entry)) for entry in log.entries)
    return {offset: verdict.reason for offset, verdict in verdicts if verdict.fails}


def assigned(topic=TOPIC, *partitions):
    return [{"topic_id": topic, "partitions": partitions or (0,)}]


@pytest.mark.parametrize("index", range(40))
def test_a_judged_log_loads_as_kafka_said(index):
    entries, verdicts = judged_logs()[index]
    for (release, kind), letters in verdicts.items():
        load = PartitionLoad(Release.parse(release), CoordinatorKind(kind))
        replayed = [(entry, load.replay(entry)) for entry in entries]
        ours = "".join(verdict.reading[0].upper() for entry, verdict in replayed if isinstance(entry, LoggedRecord))
        assert ours + ("!" if load.finish() else "") == letters, (release, kind)


def test_each_release_loads_all_that_it_wrote_itself():
    for name in RELEASES:
        for entries in real_partitions(name, OFFSETS_TOPIC).values():
            load = PartitionLoad(Release.parse(name), NEW)
            assert not [entry for entry in entries if load.replay(entry).fails]
            assert load.finish() == []


def test_the_old_coordinator_loads_every_real_log():
    for entries in all_real_partitions(OFFSETS_TOPIC):
        load = PartitionLoad(Release.parse("3.7"))
        assert not [entry for entry in entries if load.replay(entry).fails]


def test_a_release_of_three_runs_the_old_coordinator_and_skips_what_it_does_not_know():
    log = Log()
    assert PartitionLoad(Release.parse("3.9")).replay(log.value(3, "g", epoch=1)) is SKIPPED
    assert PartitionLoad(Release.parse("3.9")).replay(log.value(17, "g", epoch=1)) is SKIPPED


def test_a_share_groups_record_on_state_partitions_fails_4_0_even_as_a_tombstone():
    log = Log("4.4")
    log.value(11, "g", epoch=1)
    log.value(15, "g")
    log.tombstone(15, "g")
    assert failures(log, "4.0").keys() == {1, 2}
    assert failures(log, "4.3").keys() == set()


@pytest.mark.parametrize("type_", [10, 11, 12, 13, 14])
def test_a_share_groups_tombstone_without_the_group_fails_4_0_alone(type_):
    log = Log("4.4")
    log.tombstone(type_, "g" if type_ in (11, 12) else member("g"))
    assert "there is no share group g" in failures(log, "4.0")[0]
    assert failures(log, "4.3") == {}
    assert failures(log, "3.9") == {}


@pytest.mark.parametrize("type_", [3, 4, 5, 6, 7, 8])
def test_a_consumer_groups_tombstone_without_the_group_fails_the_new_coordinator_of_3_9(type_):
    log = Log("3.9")
    log.tombstone(type_, member("g") if type_ in (5, 7, 8) else "g")
    assert failures(log, "3.9", NEW).keys() == {0}
    assert failures(log, "4.0") == {}


def test_a_group_of_another_kind_is_an_error():
    log = Log()
    log.value(11, "g", epoch=1)
    log.value(3, "g", epoch=1)
    log.value(17, "g", epoch=1)
    assert "no consumer group" in failures(log, "4.4")[1]
    assert "no streams group" in failures(log, "4.4")[2]


def test_a_group_of_offsets_alone_becomes_a_consumer_group_but_never_a_share_group():
    log = Log("4.0")
    log.commit("g")
    log.value(3, "g", epoch=1)
    log.commit("s")
    log.value(11, "s", epoch=1)
    assert failures(log, "4.0").keys() == {3}
    # The new coordinator of 3.9 takes it for a classic group.
    assert failures(log, "3.9", NEW).keys() == {1}
    assert loaded(Log(), "4.4").groups() == {}


def test_a_group_of_offsets_alone_never_becomes_a_streams_group_in_4_1():
    log = Log("4.1")
    log.commit("g")
    log.value(17, "g", epoch=1)
    assert "no streams group" in failures(log, "4.1")[1]
    for release in ("4.2", "4.3", "4.4"):
        assert loaded(log, release).groups() == {"g": LoadedGroup(GroupType.STREAMS, 0)}
    consumer = Log("4.1")
    consumer.commit("g")
    consumer.value(3, "g", epoch=1)
    assert loaded(consumer, "4.1").groups() == {"g": LoadedGroup(GroupType.CONSUMER, 0)}


def test_a_classic_group_gives_way_by_its_tombstone():
    log = Log()
    log.commit("g")
    log.classic("g", "m")
    log.value(3, "g", epoch=1)
    log.tombstone(2, {"group": "g"})
    log.value(3, "g", epoch=1)
    assert failures(log, "4.4").keys() == {2}


def test_a_group_is_deleted_after_its_members_target_and_epoch():
    log = Log()
    log.value(5, member("g"))
    log.value(7, member("g"))
    log.value(6, "g", assignment_epoch=1)
    log.tombstone(5, member("g"))
    log.tombstone(3, "g")
    log.tombstone(8, member("g"))
    log.tombstone(5, member("g"))
    log.tombstone(6, "g")
    log.tombstone(7, member("g"))
    log.tombstone(5, member("g"))
    log.tombstone(3, "g")
    log.tombstone(6, "g")
    log.tombstone(3, "g")
    assert failures(log, "4.4").keys() == {3, 4, 6, 7, 10}


def test_deleting_a_group_that_never_had_a_target_fails():
    log = Log()
    log.value(3, "g", epoch=1)
    log.tombstone(3, "g")
    assert "target assignment's epoch was not" in failures(log, "4.4")[1]


@pytest.mark.parametrize(
    ("releases", "failing"),
    [(("3.7",), set()), (("3.8", "3.9", "4.0", "4.1"), {5, 6}), (("4.2", "4.3", "4.4"), {6})],
)
def test_a_partition_taken_before_it_is_given_back_fails_unless_at_a_higher_epoch(releases, failing):
    for release in releases:
        log = Log(release)
        log.value(3, "g", epoch=1)
        for name in ("a", "b", "c"):
            log.value(5, member("g", name))
        log.value(8, member("g", "a"), member_epoch=1, assigned_partitions=assigned())
        log.value(8, member("g", "b"), member_epoch=2, assigned_partitions=assigned())
        log.value(8, member("g", "c"), member_epoch=2, assigned_partitions=assigned())
        assert failures(log, release, NEW).keys() == failing


def test_a_record_that_fails_is_as_if_it_were_not_there():
    log = Log("4.0")
    log.value(8, member("g", "a"), member_epoch=1, assigned_partitions=assigned())
    log.value(8, member("g", "b"), member_epoch=2, assigned_partitions=assigned(TOPIC, 0, 1))
    log.value(8, member("g", "c"), member_epoch=3, assigned_partitions=assigned(TOPIC, 1))
    load = PartitionLoad(Release.parse("4.0"))
    assert [load.replay(entry).fails for entry in log.entries] == [False, True, False]
    assert load.groups() == {"g": LoadedGroup(GroupType.CONSUMER, 2)}


def test_a_topic_twice_in_an_assignment_fails_up_to_4_2():
    log = Log("4.0")
    log.value(8, member("g"), member_epoch=1, assigned_partitions=assigned() + assigned(TOPIC, 1))
    for release in ("4.0", "4.1", "4.2"):
        assert "is twice" in failures(log, release)[0]
    assert failures(log, "4.3") == {}


def test_a_streams_member_is_not_deleted_before_it_was_at_an_epoch():
    log = Log()
    log.value(19, member("g"))
    log.tombstone(19, member("g"))
    assert "before it ever was at an epoch" in failures(log, "4.4")[1]


def test_a_streams_member_with_tasks_to_revoke_but_no_metadata_stops_the_coordinator_at_the_end():
    log = Log()
    log.value(17, "g", epoch=1)
    log.value(22, member("g"), member_epoch=1, state=2)
    load = loaded(log)
    assert [offset for offset, _ in load.finish()] == [1]
    log.value(19, member("g"))
    assert loaded(log).finish() == []


def tasks(*partitions):
    return [{"subtopology_id": "s", "partitions": partitions}]


def test_a_streams_member_whose_metadata_comes_after_its_tasks_fails_4_1_alone():
    log = Log("4.1")
    log.value(19, member("g", "a"), process_id="p")
    log.value(22, member("g", "a"), member_epoch=1, active_tasks=tasks(0))
    # As the cleaner leaves it when a member's metadata was written anew.
    log.value(22, member("g", "b"), member_epoch=1, standby_tasks=tasks(1))
    log.value(19, member("g", "b"), process_id="q")
    assert "of which no member runs a task" in failures(log, "4.1")[3]
    for release in ("4.2", "4.3", "4.4"):
        assert loaded(log, release).groups() == {"g": LoadedGroup(GroupType.STREAMS, 2)}


def test_a_task_taken_before_it_is_given_back_fails_4_1_alone():
    log = Log("4.1")
    for name in ("a", "b"):
        log.value(19, member("g", name), process_id=name)
    log.value(22, member("g", "a"), member_epoch=1, active_tasks=tasks(0))
    log.value(22, member("g", "b"), member_epoch=1, active_tasks=tasks(0))
    log.tombstone(22, member("g", "a"))
    log.value(22, member("g", "b"), member_epoch=2, active_tasks=tasks(0))
    log.tombstone(22, member("g", "b"))
    log.tombstone(19, member("g", "b"))
    assert "another process still runs" in failures(log, "4.1")[3]
    assert failures(log, "4.1").keys() == {3}
    for release in ("4.2", "4.3", "4.4"):
        assert failures(log, release) == {}


def test_a_subtopology_twice_in_an_assignment_fails_4_1_alone():
    log = Log("4.1")
    log.value(22, member("g"), member_epoch=1, warmup_tasks=tasks(0) + tasks(1))
    assert "subtopology s is twice" in failures(log, "4.1")[0]
    for release in ("4.2", "4.3", "4.4"):
        assert failures(log, release) == {}


def test_4_2_alone_wants_an_epoch_for_each_active_task_or_none_at_all():
    log = Log("4.2")
    for epochs in ((1, 1), (), None):
        log.value(22, member("g"), member_epoch=1, active_tasks=[{**tasks(0, 1)[0], "assignment_epochs": epochs}])
    log.value(22, member("g"), active_tasks_pending_revocation=[{**tasks(0, 1)[0], "assignment_epochs": (1,)}])
    log.value(22, member("g"), standby_tasks=[{**tasks(0, 1)[0], "assignment_epochs": (1,)}])
    assert "subtopology s has 2 partitions, but 1 epochs" in failures(log, "4.2")[3]
    assert failures(log, "4.2").keys() == {3}
    for release in ("4.3", "4.4"):
        assert failures(log, release) == {}


def test_a_record_taken_out_counts_as_not_there():
    log = Log()
    log.commit("a")
    log.commit("b")
    log.value(3, "c", epoch=1)
    load = PartitionLoad(Release.parse("4.4"), without={0, 2})
    for entry in log.entries:
        load.replay(entry)
    assert set(load.groups()) == {"b"}


def test_offsets_of_a_transaction_wait_for_its_end():
    for kind, release in ((OLD, "3.9"), (NEW, "4.4")):
        log = Log("3.9")
        log.commit("g", 0, producer=7)
        log.commit("g", 1, producer=8)
        assert loaded(log, release, kind).offsets.committed_by("g") == set()
        log.end(7, commit=True)
        log.end(8, commit=False)
        load = loaded(log, release, kind)
        assert load.offsets.committed_by("g") == {offset_key("g", 0)[5:]}
        assert load.offsets.pending == {}


def test_a_tombstone_ends_pending_offsets_in_the_new_coordinator_and_not_in_the_old():
    log = Log("3.9")
    log.commit("g", producer=7)
    log.forget("g")
    log.end(7, commit=True)
    assert loaded(log, "3.9", OLD).offsets.committed_by("g")
    assert not loaded(log, "3.9", NEW).offsets.committed_by("g")


def test_a_tombstone_in_a_transaction_takes_back_what_that_transaction_wrote():
    log = Log("3.9")
    log.commit("g")
    log.commit("g", producer=7)
    log.forget("g", producer=7)
    log.end(7, commit=True)
    assert loaded(log, "3.9", OLD).offsets.committed_by("g")


def test_the_old_coordinator_has_groups_that_hold_but_pending_offsets():
    log = Log("3.9")
    log.commit("g", producer=7)
    log.tombstone(2, {"group": "g"})
    assert loaded(log, "3.9", OLD).groups() == {"g": LoadedGroup(GroupType.SIMPLE, 0)}
    assert loaded(log, "3.9", NEW).groups() == {}


def test_legacy_offset_commits_count_like_others():
    log = Log("4.0")
    log.raw(b"\0\0" + offset_key("g")[2:], offset_value())
    log.commit("g", 1)
    assert len(loaded(log, "4.0").offsets.committed_by("g")) == 2
