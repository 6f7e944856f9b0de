"""Coordinator partitions on the way down and back up: which records go, and that nothing else is touched."""

import json
import shutil
import struct
import zipfile

import pytest
from group_records import Log, member, offset_key
from made_clusters import SEGMENT, MadeCluster, data_batches, group_batches
from stopped_clusters import DISK, cluster_at, hashes, plan_for, texts

from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.logdir.downgrade import DataWouldBeLostError, downgrade, downgrade_in_place
from falkirk.logdir.group_records import read_groups
from falkirk.logdir.undo import undo
from falkirk.logdir.verify import verify
from falkirk.protocol import codec
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.messages import FeatureLevelRecord
from falkirk.protocol.messages.transaction_log_value import TransactionLogValue
from falkirk.protocol.record import Record
from falkirk.storage.index import parse_offset_index
from falkirk.storage.partition_log import read_segments
from falkirk.versions.release import Release

KAFKA_4_0 = Release.parse("4.0")
NOW_MS = 1_800_000_000_000


def mixed_log():
    """Groups of every kind; the records at offsets 3, 4 and 8 end the load of their partition in 4.0."""
    log = Log("4.4")
    log.commit("classic", 0)
    log.classic("classic", "m1")
    log.commit("classic", 1)
    log.value(15, "shared")
    log.tombstone(15, "shared")
    log.value(5, member("modern"))
    log.commit("modern")
    log.commit("classic", 0)
    log.value(15, "shared")
    log.commit("offsets-only")
    return log


GOING = {3, 4, 8}


@pytest.fixture
def made(made_cluster) -> MadeCluster:
    other = Log("4.4")
    other.commit("elsewhere")
    partitions = {
        "__consumer_offsets-0": group_batches(mixed_log().entries),
        "__consumer_offsets-1": group_batches(other.entries),
        "t-0": data_batches(),
    }
    return made_cluster(level=33, brokers=(1, 2), partitions=partitions)


def offsets_of(path):
    return [
        record.offset for reader in read_segments(DISK, str(path)) for batch in reader for record in batch.records()
    ]


def batches_of(path):
    return [bytes(batch.data) for reader in read_segments(DISK, str(path)) for batch in reader]


def batch_spans(path):
    return [(batch.base_offset, batch.last_offset) for reader in read_segments(DISK, str(path)) for batch in reader]


def test_a_plan_names_every_record_that_goes_and_what_it_would_have_done(made):
    plan = plan_for("4.0", made.root)
    assert not plan.is_lossless
    records = [loss for loss in plan.losses if loss.kind == "group_record"]
    assert {loss.offset for loss in records} == GOING
    for loss in records:
        assert loss.key == "group shared: share group state partition metadata (15)"
        assert loss.key_fields == {"group": "shared", "type": 15, "partition": 0}
        assert loss.source.endswith("__consumer_offsets-0")
        assert loss.detail.startswith("with it Kafka 4.0 would load no group of __consumer_offsets-0: ")
    assert [loss.before["tombstone"] for loss in records] == [False, True, False]


def test_a_plan_says_what_each_group_is_to_the_target(made):
    to_4_0 = {group["group"]: group["verdict"] for group in plan_for("4.0", made.root).as_json()["groups"]}
    assert to_4_0 == {
        "classic": "readable",
        "elsewhere": "readable",
        "modern": "readable",
        "offsets-only": "readable",
        "shared": "unreadable",
    }
    to_3_9 = {group["group"]: group for group in plan_for("3.9", made.root).as_json()["groups"]}
    assert to_3_9["modern"]["verdict"] == "appears_empty"
    assert to_3_9["modern"]["detail"] == "appears empty; its 1 offsets stay"
    assert to_3_9["modern"]["lost"] == {"group": 1, "members": 1}
    assert to_3_9["classic"]["verdict"] == "readable"


def test_a_node_is_asked_as_what_its_properties_make_it(made):
    files = [made.root / f"server-{node_id}.properties" for node_id in (1, 2)]
    for node_id, file in enumerate(files, 1):
        file.write_text(f"log.dirs={made.log_dir(node_id)}\ngroup.coordinator.rebalance.protocols=classic,consumer\n")

    # Release 3.9 runs the old coordinator, to which consumer groups are nothing, unless it is told otherwise.
    verdicts = {group["group"]: group["verdict"] for group in plan_for("3.9", *files).as_json()["groups"]}
    assert verdicts["modern"] == "readable"
    assert verdicts["classic"] == "readable"


def test_a_plan_warns_of_a_protocol_with_which_the_target_does_not_start(made):
    files = [made.root / f"server-{node_id}.properties" for node_id in (1, 2)]
    for node_id, file in enumerate(files, 1):
        protocols = "classic,consumer,streams" if node_id == 2 else "classic,consumer"
        file.write_text(f"log.dirs={made.log_dir(node_id)}\ngroup.coordinator.rebalance.protocols={protocols}\n")

    told = "node 2: its group.coordinator.rebalance.protocols names streams, and Kafka 4.0 does not start with that"
    assert told in texts(plan_for("4.0", *files).warnings)
    assert [warning for warning in plan_for("4.1", *files).warnings if "protocols" in warning.text] == []


def test_a_plan_warns_of_nodes_that_would_run_different_coordinators(made):
    file = made.root / "server-1.properties"
    file.write_text(f"log.dirs={made.log_dir(1)}\ngroup.coordinator.new.enable=true\n")

    [told] = [
        text for text in texts(plan_for("3.9", file, made.folder(2)).warnings) if "different group coordinators" in text
    ]
    assert "(node 1 the new, node 2 the old)" in told
    assert "different" not in " ".join(texts(plan_for("4.1", file, made.folder(2)).warnings))


def test_a_controllers_properties_choose_no_coordinator(made_cluster):
    cluster = made_cluster(brokers=(1,), voters=(3,))
    file = cluster.root / "server-3.properties"
    file.write_text(f"log.dirs={cluster.log_dir(3)}\ngroup.coordinator.rebalance.protocols=classic,consumer,streams\n")

    assert plan_for("3.9", file, cluster.folder(1)).warnings == ()


def test_records_of_unknown_types_are_no_reason_to_touch_a_partition(made, tmp_path):
    before = hashes(made.log_dir(1) / "__consumer_offsets-0")
    result = downgrade(DISK, plan_for("3.9", made.root), tmp_path / "out", unsafe=True)
    assert hashes(tmp_path / "out" / "node-1" / "d0" / "__consumer_offsets-0") == before
    ledger = json.loads(result.ledger.read_text())
    assert {loss["kind"] for loss in ledger["losses"]} == {"share_group"}


def test_a_commit_that_would_end_the_load_is_an_offset_lost_until_undo(made_cluster, tmp_path):
    log = Log("4.4")
    log.commit("g", 0)
    log.raw(offset_key("g", 1), struct.pack(">h", 9) + bytes(30))
    made = made_cluster(level=33, partitions={"__consumer_offsets-0": group_batches(log.entries)})
    plan = plan_for("4.0", made.root)
    found = {loss.kind: loss.detail for loss in plan.losses}
    assert found == {
        "group_record": found["group_record"],
        "committed_offsets": "1 of its offsets are not served in Kafka 4.0; undo puts its records back",
    }
    assert "value version 9" in found["group_record"]
    result = downgrade(DISK, plan, tmp_path / "out", unsafe=True)
    [partition] = (tmp_path / "out").glob("node-1/d0/__consumer_offsets-0")
    assert offsets_of(partition) == [0]
    assert undo(DISK, cluster_at(tmp_path / "out"), result.bundle, tmp_path / "back").restored_records == 1


def test_a_share_group_without_such_records_stays_as_dead_data(made_cluster):
    log = Log("4.4")
    log.value(11, "shared", epoch=1)
    made = made_cluster(level=33, partitions={"__consumer_offsets-0": group_batches(log.entries)})
    [loss] = plan_for("3.9", made.root).losses
    assert (loss.kind, loss.key) == ("share_group", "group shared")
    assert loss.detail == (
        "its start offsets and delivery state cannot be used in Kafka 3.9; "
        "the records stay, and count again after an upgrade"
    )


def test_a_safe_downgrade_refuses_and_changes_nothing(made, tmp_path):
    before = hashes(made.root)
    with pytest.raises(DataWouldBeLostError, match=r"4 things would be lost on the way to 4\.0-IV3"):
        downgrade(DISK, plan_for("4.0", made.root), tmp_path / "out")
    assert hashes(made.root) == before
    assert not (tmp_path / "out").exists()


def test_exactly_those_records_go_from_every_replica_and_all_else_stays_byte_for_byte(made, tmp_path):
    before = hashes(made.root)
    downgrade(DISK, plan_for("4.0", made.root), tmp_path / "out", unsafe=True)
    assert hashes(made.root) == before
    for node_id in (1, 2):
        old, new = made.log_dir(node_id), tmp_path / "out" / f"node-{node_id}" / "d0"
        for name in ("__consumer_offsets-1", "t-0"):
            assert hashes(old / name) == hashes(new / name)
        changed, was = new / "__consumer_offsets-0", old / "__consumer_offsets-0"
        assert offsets_of(changed) == [offset for offset in offsets_of(was) if offset not in GOING]
        # The batch of offsets 3 to 5 keeps its place, and what has not lost a record its bytes.
        assert batch_spans(changed) == batch_spans(was) == [(0, 2), (3, 5), (6, 8), (9, 9)]
        same = [one == other for one, other in zip(batches_of(was), batches_of(changed), strict=True)]
        assert same == [True, False, False, True]
        index = parse_offset_index((changed / f"{SEGMENT}.index").read_bytes(), base_offset=0, file="index")
        assert index is not None
        untouched = hashes(was).keys() - {f"{SEGMENT}.log", f"{SEGMENT}.index", f"{SEGMENT}.timeindex"}
        assert {name: hashes(changed)[name] for name in untouched} == {name: hashes(was)[name] for name in untouched}


def test_a_partition_keeps_its_end_and_the_last_batch_of_each_producer(made_cluster, tmp_path):
    log = Log("4.4")
    entries = [log.commit("g"), log.value(15, "shared"), log.value(15, "shared"), log.value(15, "shared")]

    def batch(offset, producer_id):
        record = Record(offset, NOW_MS, entries[offset].key, entries[offset].value)
        fields = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": offset} if producer_id >= 0 else {}
        return build_batch([record], base_offset=offset, leader_epoch=0, **fields)

    batches = [batch(0, -1), batch(1, 7), batch(2, 7), batch(3, -1)]
    made_cluster(level=33, partitions={"__consumer_offsets-0": batches})
    result = downgrade(DISK, plan_for("4.0", tmp_path / "cluster"), tmp_path / "out", unsafe=True)
    [partition] = (tmp_path / "out").glob("node-1/d0/__consumer_offsets-0")
    # Of the producer's two batches the last stays, without its record, and so does the end of the log.
    assert batch_spans(partition) == [(0, 0), (2, 2), (3, 3)]
    assert offsets_of(partition) == [0]
    undo(DISK, cluster_at(tmp_path / "out"), result.bundle, tmp_path / "back")
    [partition] = (tmp_path / "back").glob("node-1/d0/__consumer_offsets-0")
    assert batches_of(partition) == batches


def test_every_coordinator_partition_of_the_result_loads_at_the_target(made, tmp_path):
    downgrade(DISK, plan_for("4.0", made.root), tmp_path / "out", unsafe=True)
    result = cluster_at(tmp_path / "out")
    assert verify(DISK, result, KAFKA_4_0).problems == []
    groups = {group.group_id: group for group in read_groups(DISK, result, KAFKA_4_0).groups}
    assert {name: group.committed_offsets for name, group in groups.items()} == {
        "classic": 2, "elsewhere": 1, "modern": 1, "offsets-only": 1,
    }  # fmt: skip


def test_ledger_and_bundle_say_which_records_went(made, tmp_path):
    result = downgrade(DISK, plan_for("4.0", made.root), tmp_path / "out", unsafe=True)
    ledger = json.loads(result.ledger.read_text())
    told = [
        (loss["key_fields"]["partition"], loss["offset"]) for loss in ledger["losses"] if "type" in loss["key_fields"]
    ]
    assert told == [(0, offset) for offset in sorted(GOING)]
    with zipfile.ZipFile(result.bundle) as file:
        assert json.loads(file.read("groups/__consumer_offsets-0.json")) == {"offsets": sorted(GOING)}
        assert not [name for name in file.namelist() if "consumer_offsets-1" in name]


def test_undo_gives_the_partition_back_record_for_record(made, tmp_path):
    result = downgrade(DISK, plan_for("4.0", made.root), tmp_path / "out", unsafe=True)
    back = undo(DISK, cluster_at(tmp_path / "out"), result.bundle, tmp_path / "back")
    assert (back.restored_records, back.conflicts) == (3, ())
    for node_id in (1, 2):
        old = made.log_dir(node_id) / "__consumer_offsets-0" / f"{SEGMENT}.log"
        new = tmp_path / "back" / f"node-{node_id}" / "d0" / "__consumer_offsets-0" / f"{SEGMENT}.log"
        assert new.read_bytes() == old.read_bytes()
    assert verify(DISK, cluster_at(tmp_path / "back"), Release.parse("4.4")).problems == []


def run_on(partition, *records):
    """Let a coordinator write to its partition."""
    log = partition / f"{SEGMENT}.log"
    end = batch_spans(partition)[-1][1] + 1
    made = [Record(offset, NOW_MS, key, value) for offset, (key, value) in enumerate(records, end)]
    log.write_bytes(log.read_bytes() + build_batch(made, base_offset=end, leader_epoch=1))


def test_what_was_written_since_stays_behind_what_comes_back_and_so_wins(made, tmp_path):
    result = downgrade(DISK, plan_for("4.0", made.root), tmp_path / "out", unsafe=True)
    partitions = sorted((tmp_path / "out").glob("node-*/d0/__consumer_offsets-0"))
    for partition in partitions:
        run_on(partition, (offset_key("classic", 0), None), (offset_key("new", 0), None))
    undo(DISK, cluster_at(tmp_path / "out"), result.bundle, tmp_path / "back")
    for partition in sorted((tmp_path / "back").glob("node-*/d0/__consumer_offsets-0")):
        assert offsets_of(partition) == list(range(12))
        assert batch_spans(partition)[-1] == (10, 11)


def test_a_partition_that_was_cleaned_since_gets_its_records_back_in_their_places(made, tmp_path):
    result = downgrade(DISK, plan_for("4.0", made.root), tmp_path / "out", unsafe=True)
    for partition in sorted((tmp_path / "out").glob("node-*/d0/__consumer_offsets-0")):
        log = partition / f"{SEGMENT}.log"
        kept = batches_of(partition)
        log.write_bytes(b"".join(kept[0:1] + kept[2:]))  # the cleaner took the whole batch of offsets 3 to 5
    back = undo(DISK, cluster_at(tmp_path / "out"), result.bundle, tmp_path / "back")
    assert back.conflicts == ()
    for partition in sorted((tmp_path / "back").glob("node-*/d0/__consumer_offsets-0")):
        assert offsets_of(partition) == [0, 1, 2, 3, 4, 6, 7, 8, 9]


def test_records_whose_place_was_taken_since_are_conflicts_and_not_counted(made, tmp_path):
    result = downgrade(DISK, plan_for("4.0", made.root), tmp_path / "out", unsafe=True)
    for partition in sorted((tmp_path / "out").glob("node-*/d0/__consumer_offsets-0")):
        log = partition / f"{SEGMENT}.log"
        kept = batches_of(partition)
        others = build_batch(
            [Record(offset, NOW_MS, offset_key("other"), None) for offset in range(3, 9)], base_offset=3, leader_epoch=2
        )  # truncated, then led by another: other records stand at these offsets
        log.write_bytes(kept[0] + others + kept[3])
    back = undo(DISK, cluster_at(tmp_path / "out"), result.bundle, tmp_path / "back")
    assert back.restored_records == 0
    assert len(back.conflicts) == 2
    for conflict in back.conflicts:
        assert conflict.endswith("no place any more for the records at offsets [3, 4, 8]; what was written since stays")


def test_records_of_a_partition_that_is_gone_are_a_conflict(made, tmp_path):
    result = downgrade(DISK, plan_for("4.0", made.root), tmp_path / "out", unsafe=True)
    for partition in sorted((tmp_path / "out").glob("node-*/d0/__consumer_offsets-0")):
        shutil.rmtree(partition)
    back = undo(DISK, cluster_at(tmp_path / "out"), result.bundle, tmp_path / "back")
    assert back.restored_records == 0
    [conflict] = back.conflicts
    assert conflict == (
        "__consumer_offsets-0: no replica of it is here any more; its 3 group records stay in the bundle"
    )


def test_in_place_the_old_segment_goes_to_the_backup(made, tmp_path):
    old = {node_id: hashes(made.log_dir(node_id) / "__consumer_offsets-0") for node_id in (1, 2)}
    result = downgrade_in_place(DISK, plan_for("4.0", made.root), tmp_path / "undo", unsafe=True)
    for node_id in (1, 2):
        backup = made.folder(node_id) / "d0.falkirk-backup" / "__consumer_offsets-0"
        assert hashes(backup)[f"{SEGMENT}.log"] == old[node_id][f"{SEGMENT}.log"]
    assert verify(DISK, cluster_at(made.root), KAFKA_4_0).problems == []
    back = undo(DISK, cluster_at(made.root), result.bundle, tmp_path / "back")
    assert back.restored_records == 3


def test_the_longest_replica_tells_of_the_groups(made):
    short = made.log_dir(1) / "__consumer_offsets-0" / f"{SEGMENT}.log"
    short.write_bytes(group_batches(mixed_log().entries)[0])
    plan = plan_for("4.0", made.root)
    assert {loss.offset for loss in plan.losses if loss.kind == "group_record"} == GOING
    assert plan.groups.removed_offsets(made.log_dir(1)) == {}
    assert plan.groups.removed_offsets(made.log_dir(2)) == {"__consumer_offsets-0": GOING}


def test_a_tombstone_that_would_hide_offsets_goes_and_is_told(made_cluster, tmp_path):
    log = Log("4.4")
    log.commit("g")
    log.classic("g")
    deleted = log.tombstone(2, {"group": "g"})
    log.value(17, "g", epoch=1)
    made = made_cluster(level=33, partitions={"__consumer_offsets-0": group_batches(log.entries)})
    plan = plan_for("4.0", made.root)
    assert plan.is_lossless
    [told] = texts(plan.conversions)
    assert told == (
        f"group g: the tombstone at offset {deleted.offset} of __consumer_offsets-0 goes, "
        "behind which Kafka 4.0 would hide its 1 offsets"
    )
    result = downgrade(DISK, plan, tmp_path / "out")
    [group] = read_groups(DISK, cluster_at(tmp_path / "out"), KAFKA_4_0).groups
    assert (group.verdict.value, group.committed_offsets) == ("appears_empty", 1)
    undo(DISK, cluster_at(tmp_path / "out"), result.bundle, tmp_path / "back")
    [partition] = (tmp_path / "back").glob("node-1/d0/__consumer_offsets-0")
    assert deleted.offset in offsets_of(partition)


@pytest.mark.parametrize(("to", "warned"), [("3.9", True), ("4.3", False)])
def test_an_open_transaction_is_a_warning_where_the_target_does_not_run_it(made_cluster, to, warned):
    value = TransactionLogValue(producer_id=5, transaction_status=TransactionState.ONGOING)
    record = Record(0, NOW_MS, b"\0\0\0\2tx", struct.pack(">h", 1) + codec.encode(value, 1))
    batch = build_batch([record], base_offset=0, leader_epoch=0)
    made = made_cluster(level=33, partitions={"__transaction_state-0": [batch]})
    made.append((FeatureLevelRecord("transaction.version", 2), 0))
    expected = "transaction of tx is ongoing (__transaction_state-0, offset 0); finish it before"
    assert any(warning.text.startswith(expected) for warning in plan_for(to, made.root).warnings) is warned


def test_counts_are_by_the_type_that_kafkas_tools_give(made):
    plan = read_groups(DISK, cluster_at(made.root), Release.parse("4.4"))
    assert plan.counts() == {"classic": 3, "consumer": 1, "share": 1, "streams": 0}
