"""Each kind of problem that `verify` finds, one damage at a time."""

import struct

import pytest
from group_records import Log
from made_clusters import METADATA, SEGMENT, TOPIC_ID, append_metadata, data_batches, directory_id, group_batches
from stopped_clusters import DISK, cluster_at

from falkirk.logdir.locate import find_nodes
from falkirk.logdir.verify import PROBLEM_KINDS, verify, verify_files
from falkirk.metadata.records.errors import RecordError
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.messages import (
    ConfigRecord,
    FeatureLevelRecord,
    PartitionRecord,
    TopicRecord,
    UnregisterControllerRecord,
)
from falkirk.protocol.metadata_record import encode_frame, encode_metadata_record
from falkirk.protocol.record import Record
from falkirk.protocol.uuid import uuid_text
from falkirk.storage.bootstrap_checkpoint import write_bootstrap_checkpoint
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.quorum_state import QuorumState, format_quorum_state
from falkirk.storage.segment import SegmentReader
from falkirk.versions.release import Release

KAFKA_4_3, KAFKA_4_4 = Release.parse("4.3"), Release.parse("4.4")


def problems(made, release=KAFKA_4_3):
    return [(problem.kind, problem.path, problem.detail) for problem in verified(made, release).problems]


def verified(made, release=KAFKA_4_3):
    return verify(DISK, cluster_at(made.root), release)


def flip(file, at=-1):
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)


@pytest.fixture
def made(made_cluster):
    """Two brokers with two log directories each, one of them a voter, and one voter more."""
    return made_cluster(brokers=(1, 2), voters=(1, 3), log_dirs=2, partitions={"t-0": data_batches()})


def test_a_sound_cluster_has_no_problems_and_says_what_was_checked(made):
    found = verified(made)
    assert (found.problems, found.notes) == ([], [])
    document = found.as_json()
    assert (document["ok"], document["release"]) == (True, "4.3.1")
    records = 7 * 3 + 5  # each node's log, each log directory's bootstrap file
    assert document["checked"]["metadata_records"] == records
    assert (document["checked"]["segments"], document["checked"]["batches"]) == (2, 4)
    size = sum(len(batch) for batch in data_batches())
    assert document["checked"]["data_bytes"] == 2 * size


def test_a_flipped_bit_in_data_is_named_by_file(made):
    file = made.log_dir(2, 1) / "t-0" / f"{SEGMENT}.log"
    flip(file)
    [(kind, path, detail)] = problems(made)
    assert (kind, path) == ("checksum", str(file))
    assert "CRC" in detail


def test_a_torn_tail_of_data_is_a_note_and_no_problem(made):
    file = made.log_dir(2, 1) / "t-0" / f"{SEGMENT}.log"
    file.write_bytes(file.read_bytes()[:-3])
    found = verified(made)
    assert found.problems == []
    [note] = found.notes
    assert str(file) in note
    assert "torn" in note


def test_a_flipped_bit_in_a_snapshot_is_a_problem_though_the_log_makes_up_for_it(made):
    [file] = made.metadata(3).glob("*.checkpoint")
    flip(file, 70)
    assert ("checksum", str(file)) in [(kind, path) for kind, path, _ in problems(made)]


def test_a_flipped_bit_in_a_bootstrap_file_is_a_problem(made):
    file = made.log_dir(1, 1) / "bootstrap.checkpoint"
    flip(file, 100)
    assert [(kind, path) for kind, path, _ in problems(made)] == [("checksum", str(file))]


def test_a_flipped_bit_in_a_coordinator_partition_is_told_once(made_cluster):
    log = Log()
    log.commit("g")
    made = made_cluster(partitions={"__consumer_offsets-0": group_batches(log.entries)})
    file = made.log_dir(1) / "__consumer_offsets-0" / f"{SEGMENT}.log"
    flip(file)
    assert [(kind, path) for kind, path, _ in problems(made)] == [("checksum", str(file))]


@pytest.mark.parametrize("damage", ["flipped bit", "unknown record", "gap"])
def test_metadata_that_cannot_be_read_is_a_problem_and_the_rest_is_checked(made, damage):
    log = made.metadata(1) / f"{SEGMENT}.log"
    flip(made.log_dir(2, 1) / "t-0" / f"{SEGMENT}.log")
    kind, path = "checksum", str(log)
    if damage == "flipped bit":
        flip(log)
    elif damage == "gap":
        log.rename(log.with_name(f"{5:020}.log"))
        path = None
    else:
        made.append((FeatureLevelRecord("group.version", 1), 0))
        for node_id in made.nodes:
            file = made.metadata(node_id) / f"{SEGMENT}.log"
            data = file.read_bytes()
            append_unknown_record(file, data)
        kind = "record"
    with pytest.raises((CorruptFileError, RecordError)) as refused:
        cluster_at(made.root)
    found = verify_files(DISK, find_nodes([made.root]), KAFKA_4_3, refused.value)
    assert {problem.kind for problem in found.problems} == {kind, "checksum"}
    assert len(found.problems) == 2
    assert path is None or found.problems[0].path == path
    assert found.problems[1].path.endswith("n2/d1/t-0/00000000000000000000.log")


def append_unknown_record(file, data):
    end = max(batch.end_offset for batch in SegmentReader(data, file="log", base_offset=0))
    record = Record(end, 1_800_000_000_000, None, encode_frame(99, 0))
    file.write_bytes(data + build_batch([record], base_offset=end, leader_epoch=1))


def test_images_that_differ_at_the_same_offset_are_a_problem(made):
    made.append((ConfigRecord(4, "1", "a", "b"), 0), nodes=[1, 2])
    made.append((ConfigRecord(4, "1", "a", "other"), 0), nodes=[3])
    assert problems(made) == [("image", str(made.metadata(3)), "node 3 has other metadata than node 1")]


def test_a_node_that_is_behind_is_a_note(made):
    made.append((ConfigRecord(4, "1", "a", "b"), 0), nodes=[1, 2])
    found = verified(made)
    assert found.problems == []
    assert found.notes == ["node 3: its metadata ends at offset 7 of epoch 1, that of node 1 at 8 of 1"]


def test_a_record_type_that_the_release_does_not_know_is_named_with_its_offset(made_cluster):
    made = made_cluster(level=33)
    made.append((UnregisterControllerRecord(9), 0))
    path = str(made.metadata(1) / f"{SEGMENT}.log")
    assert problems(made, KAFKA_4_4) == []
    detail = "offset 3: Kafka 4.3 does not know UnregisterControllerRecord"
    assert ("record", path, detail) in problems(made, KAFKA_4_3)


def test_a_record_version_that_the_release_does_not_read_is_named_with_its_offset(made):
    found = problems(made, Release.parse("3.9"))
    detail = "offset 3: RegisterBrokerRecord version 4, Kafka 3.9 reads 0-3"
    assert ("record", str(made.metadata(1) / f"{SEGMENT}.log"), detail) in found
    assert {kind for kind, _, _ in found} == {"record", "feature"}


def test_a_feature_that_the_release_does_not_run_is_named(made):
    details = [detail for kind, _, detail in problems(made, Release.parse("3.9")) if kind == "feature"]
    assert any("metadata.version" in detail for detail in details)
    details = [detail for kind, _, detail in problems(made, Release.parse("3.7")) if kind == "feature"]
    assert any("kraft.version" in detail for detail in details)


def test_a_bootstrap_file_of_a_level_with_newer_records_is_a_problem(made):
    file = made.log_dir(1, 1) / "bootstrap.checkpoint"
    record = encode_metadata_record(UnregisterControllerRecord(9), 0)
    file.write_bytes(b"".join(write_bootstrap_checkpoint([record], clock=lambda: 0)))
    detail = "offset 0: Kafka 4.3 does not know UnregisterControllerRecord"
    assert problems(made) == [("record", str(file), detail)]


@pytest.mark.parametrize(
    ("kraft_version", "state", "detail"),
    [
        (0, QuorumState(data_version=1, leader_epoch=1), "data_version 1, and kraft.version is 0"),
        (
            1,
            QuorumState(data_version=0, leader_epoch=1, current_voters=(1,)),
            "data_version 0 with voters, and kraft.version is 1",
        ),
        (0, QuorumState(data_version=0, leader_epoch=1, current_voters=(1, 2, 3)), "voters [1, 2, 3], elsewhere [1]"),
    ],
)
def test_a_quorum_state_that_does_not_fit_is_named(made_cluster, kraft_version, state, detail):
    made = made_cluster(kraft_version=kraft_version, brokers=(1, 2))
    file = made.metadata(2) / "quorum-state"
    properties = made.folder(1) / "server.properties"
    properties.write_text("log.dirs=d0\ncontroller.quorum.voters=1@h:9093\n")
    file.write_bytes(format_quorum_state(state))
    cluster = cluster_at(properties, made.folder(2))
    assert [(each.kind, each.path, each.detail) for each in verify(DISK, cluster, KAFKA_4_3).problems] == [
        ("quorum-state", str(file), detail)
    ]


def test_an_observer_that_has_not_heard_of_voters_yet_is_no_problem(made_cluster):
    made = made_cluster(brokers=(1, 2))
    (made.metadata(2) / "quorum-state").write_bytes(format_quorum_state(QuorumState(data_version=0, leader_epoch=1)))
    assert problems(made) == []


def test_a_missing_partition_directory_is_named(made):
    (made.log_dir(1, 1) / "t-0").rename(made.root / "away")
    detail = "no directory of t-0, which has a replica here"
    assert problems(made) == [("partition", str(made.log_dir(1)), detail)]


def test_a_stray_partition_directory_is_named(made):
    stray = made.log_dir(1, 1) / "t-5"
    (made.log_dir(1, 1) / "t-0").rename(stray)
    made.append((PartitionRecord(0, TOPIC_ID, (2,), (2,), directories=(directory_id(2, 1),)), 2))
    detail = "the metadata places no replica of t-5 on node 1"
    assert problems(made) == [("partition", str(stray), detail)]


def test_a_directory_of_an_earlier_topic_of_the_name_is_named(made):
    file = made.log_dir(1, 1) / "t-0" / "partition.metadata"
    file.write_text("version: 0\ntopic_id: " + "B" * 21 + "A")
    [(kind, path, detail)] = problems(made)
    assert (kind, path) == ("partition", str(file.parent))
    assert detail.startswith("its topic id is BBBBBBBBBBBBBBBBBBBBBA, the metadata says BwcHBwcHBwcHBwcHBwcHBw")


@pytest.mark.parametrize(
    ("name", "contents"),
    [
        ("t-0/partition.metadata", b"?"),
        ("t-0/leader-epoch-checkpoint", b"0\n1\n0"),
        (f"t-0/{SEGMENT}.snapshot", struct.pack(">hIi", 1, 7, 0)),
        (f"t-0/{SEGMENT}.txnindex", b"\0" * 33),
        ("recovery-point-offset-checkpoint", b"0\n1\nt 0 x\n"),
        ("replication-offset-checkpoint", b"0\n2\nt 0 1\n"),
        ("log-start-offset-checkpoint", b"1\n0\n"),
        ("cleaner-offset-checkpoint", b"?"),
    ],
)
def test_a_small_file_that_is_damaged_is_named(made, name, contents):
    file = made.log_dir(1, 1) / name
    file.write_bytes(contents)
    [(kind, path, detail)] = problems(made)
    assert (kind, path) == ("checksum", str(file))
    assert detail.startswith(str(file))


def test_small_files_that_were_never_written_are_no_damage(made):
    (made.log_dir(1, 1) / "recovery-point-offset-checkpoint").write_bytes(b"")
    (made.log_dir(1, 1) / "t-0" / "leader-epoch-checkpoint").write_bytes(b"")
    assert problems(made) == []


def test_a_partition_in_the_wrong_log_directory_is_named(made):
    moved = made.log_dir(1, 0) / "t-0"
    (made.log_dir(1, 1) / "t-0").rename(moved)
    [(kind, path, detail)] = problems(made)
    assert (kind, path) == ("partition", str(moved))
    assert detail.startswith("the metadata places it in directory ")


def test_what_a_start_has_cut_off_is_named_until_it_is_moved_away(made):
    log = made.log_dir(1, 1) / "t-0"
    kept = log / f"{0:020d}.log.0.cut"
    kept.write_bytes((log / f"{0:020d}.log").read_bytes())
    torn = log / f"{0:020d}.log.0.1.cut"
    torn.write_bytes(b"\x01" * 9)
    found = {path: (kind, detail) for kind, path, detail in problems(made)}
    size = kept.stat().st_size
    assert found == {
        str(kept): ("cut", f"a start cut off {size} bytes, 2 valid records of offsets 0 to 1 in them"),
        str(torn): ("cut", "a start cut off 9 bytes, no valid batch in them"),
    }


def test_a_directory_with_an_id_that_the_metadata_does_not_have_is_named(made):
    file = made.log_dir(1, 1) / "meta.properties"
    old = uuid_text(directory_id(1, 1))
    file.write_text(file.read_text().replace(old, uuid_text(b"\7" * 16)))
    [(kind, path, detail)] = problems(made)
    assert (kind, path) == ("partition", str(made.log_dir(1, 1) / "t-0"))
    assert detail == f"the metadata places it in directory {old}, which is none of the node's"


def test_logs_that_a_start_set_aside_are_noted(made):
    name = "t-9.0123456789abcdef0123456789abcdef-stray"
    (made.log_dir(1) / name).mkdir()
    found = verified(made)
    assert (found.problems, found.notes) == ([], [f"{made.log_dir(1) / name}: a log that a start set aside"])


def test_directories_to_be_deleted_and_those_being_moved_are_left_out(made):
    for name in ("t-9.0123456789abcdef0123456789abcdef-delete", "t-8.0123456789abcdef0123456789abcdef-future"):
        (made.log_dir(1) / name).mkdir()
    assert problems(made) == []


def test_a_group_record_that_ends_the_load_of_its_partition_is_named(made_cluster):
    log = Log()
    log.commit("g")
    log.value(15, "shared")
    made = made_cluster(level=25, partitions={"__consumer_offsets-0": group_batches(log.entries)})
    assert problems(made, KAFKA_4_4) == []
    found = [problem for problem in problems(made, Release.parse("4.0")) if problem[0] == "group"]
    [(_, path, detail)] = found
    assert path == str(made.log_dir(1) / "__consumer_offsets-0")
    assert detail.startswith("offset 1: with it Kafka 4.0 would load no group of __consumer_offsets-0: ")


def test_nodes_that_never_ran_have_nothing_to_place(made_cluster):
    made = made_cluster()
    for file in made.metadata(1).iterdir():
        file.unlink()
    (made.log_dir(1) / METADATA).rmdir()
    (made.log_dir(1) / "t-0").mkdir()
    assert problems(made) == []


def test_every_kind_of_problem_is_described():
    assert set(PROBLEM_KINDS) == {"checksum", "image", "record", "feature", "quorum-state", "partition", "cut", "group"}


def test_a_topic_that_was_removed_leaves_its_directory_as_stray(made):
    append_metadata(made.metadata(1), [(TopicRecord("u", bytes([5]) * 16), 0)])
    made.append((TopicRecord("u", bytes([5]) * 16), 0), nodes=[2, 3])
    (made.log_dir(1) / "u-0").mkdir()
    [(_, path, detail)] = problems(made)
    assert (path, detail) == (str(made.log_dir(1) / "u-0"), "the metadata places no replica of u-0 on node 1")
