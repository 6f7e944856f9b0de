"""Tombstones for what groups leave behind: which records get one, that nothing else changes, what undo makes of it."""

import json

import pytest
from group_records import Log, member
from made_clusters import MadeCluster, group_batches
from stopped_clusters import DISK, cluster_at, hashes, plan_for

from falkirk.coordinator.prediction.group_survey import key_type
from falkirk.coordinator.prediction.groups import GroupVerdict
from falkirk.coordinator.records.log_entry import LoggedRecord
from falkirk.logdir.downgrade import downgrade, downgrade_in_place
from falkirk.logdir.group_records import group_replicas, read_groups
from falkirk.logdir.plan import with_tombstones
from falkirk.logdir.undo import undo
from falkirk.logdir.verify import verify
from falkirk.protocol.batch_filter import filter_batch
from falkirk.protocol.record_batch import read_batches
from falkirk.versions.release import Release

KAFKA_3_9 = Release.parse("3.9")
# Of group `modern` in the order in which a coordinator deletes a group.
DELETED = [8, 7, 6, 5, 3]


def log_of_groups():
    log = Log("4.3")
    log.classic("classic", "m1")
    log.commit("classic", 0)
    log.value(3, "modern", epoch=2)
    log.value(5, member("modern"))
    log.value(6, "modern", assignment_epoch=2)
    log.value(7, member("modern"))
    log.value(8, member("modern"))
    log.commit("modern", 0)
    log.value(3, "gone", epoch=1)
    log.tombstone(3, "gone")
    return log


@pytest.fixture
def made(made_cluster) -> MadeCluster:
    return made_cluster(
        level=25, brokers=(1, 2), partitions={"__consumer_offsets-0": group_batches(log_of_groups().entries)}
    )


def planned(made, to="3.9"):
    return with_tombstones(DISK, plan_for(to, made.root))


def entries_of(root, node=0):
    [replicas] = group_replicas(DISK, cluster_at(root)).values()
    return list(replicas[node])


def test_every_key_that_nothing_writes_any_more_gets_one_behind_all_else(made, tmp_path):
    plan = planned(made)
    downgrade(DISK, plan, tmp_path / "out")
    before = log_of_groups().entries
    for node in (0, 1):
        entries = entries_of(tmp_path / "out", node)
        assert entries[: len(before)] == before
        added = [entry for entry in entries[len(before) :] if isinstance(entry, LoggedRecord)]
        assert [(key_type(entry.key), entry.value) for entry in added] == [(type_, None) for type_ in DELETED]
        assert [entry.offset for entry in added] == list(range(10, 15))
    result = cluster_at(tmp_path / "out")
    assert verify(DISK, result, KAFKA_3_9).problems == []
    found = {
        group.group_id: (group.verdict, group.committed_offsets)
        for group in read_groups(DISK, result, KAFKA_3_9).groups
    }
    assert found == {"classic": (GroupVerdict.READABLE, 1), "modern": (GroupVerdict.READABLE, 1)}


def test_ledger_and_plan_name_the_groups(made, tmp_path):
    result = downgrade(DISK, planned(made), tmp_path / "out")
    ledger = json.loads(result.ledger.read_text())
    [line] = ledger["tombstones"]
    assert (line["group"], line["partition"], line["offsets"]) == ("modern", "__consumer_offsets-0", [10, 14])
    assert line["records"]["consumer group metadata (3)"] == 1
    assert "group modern: 5 tombstones at the end of __consumer_offsets-0 for records that nothing writes any more" in [
        each["text"] for each in ledger["conversions"]
    ]


def test_without_being_asked_for_there_are_none(made, tmp_path):
    result = downgrade(DISK, plan_for("3.9", made.root), tmp_path / "out")
    assert json.loads(result.ledger.read_text())["tombstones"] == []
    assert entries_of(tmp_path / "out") == log_of_groups().entries


def test_undo_takes_them_out_and_has_what_a_cleaner_took(made, tmp_path):
    result = downgrade(DISK, planned(made), tmp_path / "out")
    for partition in sorted((tmp_path / "out").glob("node-*/d0/__consumer_offsets-0")):
        [log] = partition.glob("*.log")
        # The cleaner took what the tombstones deleted.
        kept = [
            filter_batch(batch, lambda record: record.offset not in range(2, 7))
            for batch in read_batches(log.read_bytes())
        ]
        log.write_bytes(b"".join(batch for batch in kept if batch is not None))
    back = undo(DISK, cluster_at(tmp_path / "out"), result.bundle, tmp_path / "back")
    assert back.conflicts == ()
    assert entries_of(tmp_path / "back") == log_of_groups().entries


def test_undo_of_a_result_that_never_ran_gives_the_records_back_as_they_were(made, tmp_path):
    result = downgrade_in_place(DISK, planned(made), tmp_path / "undo")
    assert len(entries_of(made.root)) == 15
    undo(DISK, cluster_at(made.root), result.bundle, tmp_path / "back")
    for node in (0, 1):
        assert entries_of(tmp_path / "back", node) == log_of_groups().entries


def test_a_replica_that_ends_elsewhere_is_left_as_it_is(made, tmp_path):
    partition = made.log_dir(2) / "__consumer_offsets-0"
    [log] = partition.glob("*.log")
    log.write_bytes(b"".join(group_batches(log_of_groups().entries)[:-1]))
    before = hashes(partition)[log.name]
    downgrade(DISK, planned(made), tmp_path / "out")
    assert hashes(tmp_path / "out" / "node-2" / "d0" / "__consumer_offsets-0")[log.name] == before
    assert len(entries_of(tmp_path / "out", 0)) == 15


def test_a_group_whose_offsets_would_not_be_served_gets_none(made_cluster, tmp_path):
    log = Log("4.3")
    log.commit("modern", 0)
    log.value(3, "modern", epoch=2)
    made = made_cluster(level=25, partitions={"__consumer_offsets-0": group_batches(log.entries)})
    plan = with_tombstones(DISK, plan_for("3.9-IV0", made.root, read_by="4.0"))
    assert plan.tombstones.groups == ()
    assert [warning for warning in plan.warnings if "less well with tombstones" in warning.text] != []
