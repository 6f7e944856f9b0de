"""Logs that are damaged, incomplete, of a minority, or that contradict themselves: told, and the rest is there."""

from dataclasses import replace
from pathlib import Path

import pytest
from fleet_clusters import fleet_cluster
from made_clusters import MadeCluster
from metadata_images import orders, partition, topic_config
from metadata_partitions import MadePartition, MemoryCluster, with_open_transaction
from state_reference import in_order, reference_tables

from falkirk.pipeline.errors import InventoryError
from falkirk.pipeline.state.metadata.inconsistencies import REPORTED_MAX
from falkirk.pipeline.state.metadata_state import metadata_state
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.messages import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ClearElrRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    NoOpRecord,
    PartitionChangeRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from falkirk.protocol.metadata_record import encode_frame, encode_metadata_record
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import read_batches
from falkirk.storage.memory_disk import MemoryDisk
from falkirk.storage.properties_file import parse_properties

LOG = f"{0:020}.log"


def rows_of(cluster):
    tables = metadata_state(cluster).tables
    return {name: [row for batch in batches for row in batch.to_pylist()] for name, batches in tables.items()}


def told(found):
    """The problems, each as (kind, name of the file, offset)."""
    rows = found["problems"]
    return [(row["kind"], row["source"] and row["source"].rpartition("/")[2], row["offset"]) for row in rows]


def facts(found, *names):
    [row] = found["clusters"]
    return tuple(row[name] for name in names)


def log_of(*batches):
    """A log at 4.3 with one topic, then some batches of records."""
    made = MadePartition()
    made.add()
    made.add((FeatureLevelRecord("metadata.version", 30), 0), (orders(), 0), (partition(0), 2), (partition(1), 2))
    for records in batches:
        made.add(*((record, 2 if type(record).__name__.startswith("Partition") else 0) for record in records))
    return made


# --- Minorities


@pytest.fixture
def made_cluster(tmp_path):
    return lambda **fields: MadeCluster(root=tmp_path / "cluster", **fields).make()


def test_a_minority_tells_its_best_log_and_that_it_may_be_behind(made_cluster):
    made = made_cluster(voters=(1, 2, 3), brokers=(9,))
    made.append((FeatureLevelRecord("group.version", 1), 0), nodes=[1])
    found = rows_of(fleet_cluster(made.folder(1), made.folder(9)))
    assert facts(found, "chosen_node", "voters", "has_majority", "is_complete") == (1, [1, 2, 3], False, True)
    assert "group.version" in {row["feature"] for row in found["feature_levels"]}
    [problem] = found["problems"]
    assert problem["kind"] == "no majority"
    assert problem["detail"] == (
        "1 of the 3 voters [1, 2, 3] (from the metadata log) are here, a majority is 2; "
        "the best log is that of node 1, and may be behind"
    )
    assert rows_of(fleet_cluster(made.root))["problems"] == []


def test_a_brokers_copy_counts_only_where_no_voter_is_there(made_cluster):
    made = made_cluster(voters=(1,), brokers=(9,))
    made.append((FeatureLevelRecord("group.version", 1), 0), nodes=[9])
    assert facts(rows_of(fleet_cluster(made.root)), "chosen_node", "has_majority") == (1, True)
    found = rows_of(fleet_cluster(made.folder(9)))
    assert facts(found, "chosen_node", "has_majority") == (9, False)
    assert told(found) == [("no majority", None, None)]


def without_quorum_state(made):
    files = made.files()
    del files["quorum-state"]
    return MemoryCluster(files=files).fleet()


def test_without_anything_that_says_who_votes_the_log_is_read_all_the_same():
    found = rows_of(without_quorum_state(log_of()))
    assert facts(found, "voters", "has_majority", "end_offset") == (None, False, 5)
    assert found["problems"][0]["detail"].startswith("the voters are not known")


@pytest.mark.parametrize(("text", "voters", "kinds"), [
    ("1@h:9093", [1], []),
    ("1@nowhere", None, ["unreadable file", "no majority"]),
])  # fmt: skip
def test_the_configuration_says_who_votes_where_it_can_be_read(text, voters, kinds):
    cluster = without_quorum_state(log_of())
    properties = parse_properties(f"controller.quorum.voters={text}\n".encode(), file="server.properties")
    found = rows_of(replace(cluster, nodes=(replace(cluster.nodes[0], server_properties=properties),)))
    assert facts(found, "voters") == (voters,)
    assert [row["kind"] for row in found["problems"]] == kinds
    assert len(found["partitions"]) == 2


def test_what_another_nodes_quorum_state_lacks_is_told_with_the_node(made_cluster):
    made = made_cluster(voters=(1, 2), brokers=())
    (made.metadata(2) / "quorum-state").write_bytes(b"{")
    [problem] = rows_of(fleet_cluster(made.root))["problems"]
    assert (problem["node_id"], problem["kind"]) == (2, "unreadable file")
    assert problem["source"] == str(made.metadata(2) / "quorum-state")


# --- Damage


def assert_like_the_undamaged(found, made, *, but=()):
    expected = reference_tables(MemoryCluster(files=made.files()).read())
    for table in set(expected) - {"clusters", *but}:
        assert in_order(found[table]) == in_order(expected[table]), table


def test_a_damaged_batch_is_told_once_and_everything_behind_it_is_there():
    made = log_of([ConfigRecord(4, "", "a", "1")], [ConfigRecord(4, "", "b", "2")], [topic_config("c", "3")])
    files = made.files()
    damaged = bytearray(files[LOG])
    at = sum(len(batch.data()) for batch in made.batches[:3])
    damaged[at + 70] ^= 1
    found = rows_of(MemoryCluster(files=files | {LOG: bytes(damaged)}).fleet())
    assert told(found) == [("corrupt batch", LOG, 6)]
    assert found["problems"][0]["position"] == at
    assert facts(found, "is_complete", "end_offset") == (False, 8)
    assert {row["name"] for row in found["configs"]} == {"a", "c"}
    assert_like_the_undamaged(found, made, but=["configs"])


def test_a_damaged_last_batch_does_not_count():
    made = log_of([ConfigRecord(4, "", "a", "1")])
    data = bytearray(made.files()[LOG])
    data[-1] ^= 1
    found = rows_of(MemoryCluster(files=made.files() | {LOG: bytes(data)}).fleet())
    assert told(found) == [("corrupt batch", LOG, 5)]
    assert facts(found, "is_complete", "end_offset") == (False, 5)


@pytest.mark.parametrize("cut", [1, 40, 70])
def test_a_torn_tail_is_told_and_leaves_the_rest_complete(cut):
    made = log_of([ConfigRecord(4, "", "a", "1")])
    data = made.files()[LOG]
    found = rows_of(MemoryCluster(files=made.files() | {LOG: data[:-cut]}).fleet())
    assert told(found) == [("torn tail", LOG, None)]
    assert found["problems"][0]["position"] == sum(len(batch.data()) for batch in made.batches[:-1])
    assert facts(found, "is_complete", "end_offset") == (True, 5)
    assert found["configs"] == []


def test_a_torn_segment_before_the_last_is_damage():
    made = log_of([ConfigRecord(4, "", "a", "1")], [ConfigRecord(4, "", "b", "2")])
    made.segments = [0, 6]
    data = made.files()[LOG]
    found = rows_of(MemoryCluster(files=made.files() | {LOG: data[:-5]}).fleet())
    assert told(found) == [("torn tail", LOG, None), ("gap", f"{6:020}.log", 6)]
    assert facts(found, "is_complete", "end_offset") == (False, 7)
    assert [row["name"] for row in found["configs"]] == ["b"]


def test_a_segment_that_is_gone_is_a_gap():
    made = log_of([ConfigRecord(4, "", "a", "1")], [ConfigRecord(4, "", "b", "2")])
    made.segments = [0, 5, 6]
    files = made.files()
    del files[f"{5:020}.log"]
    found = rows_of(MemoryCluster(files=files).fleet())
    assert told(found) == [("gap", f"{6:020}.log", 6)]
    assert found["problems"][0]["detail"] == "records from offset 5 on are missing"
    assert facts(found, "is_complete") == (False,)


def flipped(made, index, field_at, value):
    """The log with one byte changed in a batch's header that no CRC covers."""
    data = bytearray(made.files()[LOG])
    data[sum(len(batch.data()) for batch in made.batches[:index]) + field_at] = value
    return MemoryCluster(files=made.files() | {LOG: bytes(data)}).fleet()


@pytest.mark.parametrize(("field_at", "value", "kind", "offset", "reason"), [
    (7, 4, "corrupt batch", 4, "batch begins at offset 4, 5 was expected"),
    (7, 9, "gap", 9, "records from offset 5 on are missing"),
    (15, 0, "corrupt batch", 5, "batch has leader epoch 0 after 1"),
])  # fmt: skip
def test_a_flipped_offset_or_epoch_is_seen_by_its_neighbours(field_at, value, kind, offset, reason):
    found = rows_of(flipped(log_of([NoOpRecord()], [ConfigRecord(4, "", "a", "1")]), 2, field_at, value))
    assert (kind, LOG, offset) in told(found)
    assert reason in {row["detail"] for row in found["problems"]}
    assert facts(found, "is_complete") == (False,)
    assert [row["name"] for row in found["configs"]] == ["a"]


@pytest.mark.parametrize("value", [0x20, 0x40, 0x7F, 0x80, 0xFF])
@pytest.mark.parametrize("index", [2, 3])
def test_an_offset_that_no_log_comes_to_is_told_and_breaks_nothing(index, value):
    made = log_of(
        [topic_config("a", "1"), NoOpRecord(), TopicRecord("new", b"n" * 16)], [ConfigRecord(4, "", "b", "1")]
    )
    found = rows_of(flipped(made, index, 0, value))
    assert facts(found, "is_complete") == (False,)
    assert {"gap", "corrupt batch"} & {row["kind"] for row in found["problems"]}
    assert [row["partition_id"] for row in found["partitions"]] == [0, 1]


def test_a_time_that_no_calendar_has_is_none():
    made = log_of()
    record = Record(5, 1 << 62, None, encode_metadata_record(FeatureLevelRecord("group.version", 1), 0))
    data = made.files()[LOG] + build_batch([record], base_offset=5, leader_epoch=1)
    found = rows_of(MemoryCluster(files=made.files() | {LOG: data}).fleet())
    assert [row["timestamp"] for row in found["feature_levels"] if row["feature"] == "group.version"] == [None]
    assert facts(found, "last_timestamp") == (None,)


def raw(made, *pairs, is_control=False):
    """The log with one more batch of any keys and values."""
    records = [Record(offset, 1, *pair) for offset, pair in enumerate(pairs, made.end_offset)]
    batch = build_batch(records, base_offset=made.end_offset, leader_epoch=1, is_control=is_control)
    return MemoryCluster(files=made.files() | {LOG: made.files()[LOG] + batch}).fleet()


def test_unknown_and_broken_records_are_told_and_those_beside_them_count():
    unknown, broken = encode_frame(99, 0) + b"\x00", encode_frame(2, 0) + b"\xff"
    good = encode_metadata_record(ConfigRecord(4, "", "a", "1"), 0)
    found = rows_of(raw(log_of(), (None, unknown), (None, broken), (None, good), (None, unknown)))
    assert sorted(told(found)) == [("bad record", LOG, 6), ("unknown record", LOG, 5)]
    assert [row["count"] for row in found["problems"] if row["kind"] == "unknown record"] == [2]
    assert facts(found, "is_complete", "end_offset") == (False, 9)
    assert [row["name"] for row in found["configs"]] == ["a"]


def test_a_control_record_that_does_not_parse_is_told():
    found = rows_of(raw(log_of(), (b"\x00\x00\x00\x05", b""), is_control=True))
    assert told(found) == [("bad record", LOG, 5)]
    assert facts(found, "kraft_version", "is_complete") == (0, False)


# --- Snapshots


def with_snapshots():
    made = log_of([topic_config("a", "1")], [topic_config("b", "2")], [topic_config("c", "3")])
    made.snapshots, made.segments = [6, 7], [0, 6]
    return made


def damaged_snapshot(made, end):
    [name] = [name for name in made.files() if name.startswith(f"{end:020}-")]
    data = bytearray(made.files()[name])
    data[len(data) // 2] ^= 1
    return {name: bytes(data)}


def test_an_older_snapshot_makes_up_for_a_damaged_one():
    made = with_snapshots()
    made.log_start = 6
    found = rows_of(MemoryCluster(files=made.files() | damaged_snapshot(made, 7)).fleet())
    assert [problem[0] for problem in told(found)] == ["corrupt batch"]
    assert facts(found, "is_complete", "end_offset") == (True, 8)
    made.snapshots = [6]
    assert_like_the_undamaged(found, made)


def test_the_whole_log_makes_up_for_damaged_snapshots():
    made = with_snapshots()
    files = made.files() | damaged_snapshot(made, 7) | damaged_snapshot(made, 6)
    found = rows_of(MemoryCluster(files=files).fleet())
    assert [problem[0] for problem in told(found)] == ["corrupt batch", "corrupt batch"]
    assert facts(found, "is_complete") == (True,)
    made.snapshots = []
    assert_like_the_undamaged(found, made)


def test_where_nothing_makes_up_for_it_the_sound_part_of_a_snapshot_is_there():
    made = with_snapshots()
    made.log_start, made.snapshots = 6, [6]
    found = rows_of(MemoryCluster(files=made.files() | damaged_snapshot(made, 6)).fleet())
    assert told(found)[0][0] == "corrupt batch"
    assert facts(found, "is_complete", "end_offset") == (False, 8)
    assert {row["name"] for row in found["configs"]} == {"b", "c"}


def snapshot_parts(made):
    """The name of the only snapshot, and its header, its records and its footer."""
    [(name, data)] = [(name, data) for name, data in made.files().items() if name.endswith(".checkpoint")]
    sizes = [batch.size for batch in read_batches(data)]
    return name, data[: sizes[0]], data[sizes[0] : -sizes[-1]], data[-sizes[-1] :]


@pytest.mark.parametrize(("parts", "kind"), [
    ("records footer", "gap"),
    ("header records", "unreadable file"),
    ("header header records footer", "corrupt batch"),
    ("header records footer header", "unreadable file"),
])  # fmt: skip
def test_a_snapshot_must_begin_with_its_header_and_end_with_its_footer(parts, kind):
    made = with_snapshots()
    made.snapshots = [7]
    name, header, records, footer = snapshot_parts(made)
    of = {"header": header, "records": records, "footer": footer}
    broken = b"".join(of[part] for part in parts.split())
    found = rows_of(MemoryCluster(files=made.files() | {name: broken}).fleet())
    assert kind in {row["kind"] for row in found["problems"]}
    assert {row["source"] for row in found["problems"]} == {f"/d0/__cluster_metadata-0/{name}"}
    assert facts(found, "is_complete") == (True,)
    made.snapshots = []
    assert_like_the_undamaged(found, made)


def test_a_snapshot_with_two_footers_is_none():
    made = with_snapshots()
    made.snapshots = [7]
    name, header, records, footer = snapshot_parts(made)
    [batch] = read_batches(footer)
    # The CRC does not cover the base offset.
    second = batch.end_offset.to_bytes(8, "big") + footer[8:]
    found = rows_of(MemoryCluster(files=made.files() | {name: header + records + footer + second}).fleet())
    assert told(found) == [("unreadable file", name, None)]
    assert {row["written"]["source"] for row in found["configs"]} == {
        f"/d0/__cluster_metadata-0/{each}" for each in (LOG, f"{6:020}.log")
    }


def test_records_that_no_file_holds_are_a_gap():
    made = with_snapshots()
    made.snapshots, made.segments, made.log_start = [6], [0, 7], 7
    found = rows_of(MemoryCluster(files=made.files()).fleet())
    assert told(found) == [("gap", f"{7:020}.log", 7)]
    assert found["problems"][0]["detail"].endswith("before it: the newest snapshot ends at offset 6")
    assert facts(found, "is_complete", "end_offset") == (False, 8)
    assert {row["name"] for row in found["configs"]} == {"a", "c"}


def test_a_log_that_begins_later_without_any_snapshot_is_read_as_far_as_it_goes():
    made = with_snapshots()
    made.snapshots, made.log_start = [], 6
    found = rows_of(MemoryCluster(files=made.files()).fleet())
    assert told(found) == [("gap", f"{6:020}.log", 6)]
    assert {row["name"] for row in found["configs"]} == {"b", "c"}
    assert facts(found, "metadata_version", "is_complete") == (None, False)


def test_files_of_which_nothing_can_be_read_are_no_cluster_that_never_ran():
    made = with_snapshots()
    made.snapshots, made.segments, made.log_start = [6], [0, 6], 6
    files = {name: data[:-20] if name[0] == "0" else data for name, data in made.files().items()}
    files[f"{6:020}.log"] = files[f"{6:020}.log"][:50]
    found = rows_of(MemoryCluster(files=files).fleet())
    assert min(told(found)) == ("gap", f"{6:020}.log", 6)
    assert sorted(row["kind"] for row in found["problems"]) == ["gap", "torn tail", "unreadable file"]
    assert facts(found, "is_complete", "end_offset") == (False, 0)
    del files[f"{6:020}.log"]
    found = rows_of(MemoryCluster(files=files).fleet())
    assert [row["kind"] for row in found["problems"]] == ["unreadable file"]
    assert facts(found, "is_complete", "end_offset") == (False, 0)


@pytest.mark.parametrize(("damage", "kind", "is_complete"), [
    (lambda data: data[:-1], "torn tail", True), (lambda data: data[:-1] + b"x", "corrupt batch", False),
])  # fmt: skip
def test_a_first_batch_that_is_not_sound_leaves_a_cluster_that_never_ran(damage, kind, is_complete):
    made = MadePartition()
    made.add((FeatureLevelRecord("metadata.version", 30), 0))
    found = rows_of(MemoryCluster(files={LOG: damage(made.files()[LOG])}).fleet())
    assert told(found) == [(kind, LOG, 0 if kind == "corrupt batch" else None)]
    assert facts(found, "is_complete", "chosen_node", "end_offset") == (is_complete, None, 0)


# --- Contradictions and transactions


def test_a_transaction_that_never_ends_does_not_count_and_is_told():
    made = with_open_transaction(
        log_of([topic_config("a", "1")]), [(topic_config("b", "2"), 0), (RemoveTopicRecord(b"o" * 16), 0)]
    )
    cluster = MemoryCluster(files=made.files())
    found = rows_of(cluster.fleet())
    assert told(found) == [("open transaction", LOG, 6)]
    assert found["problems"][0]["detail"] == (
        "metadata transaction never ended of offset 6 never ended; its 2 records do not count"
    )
    assert facts(found, "is_complete", "end_offset") == (True, 9)
    expected = reference_tables(cluster.read())
    for table in set(expected) - {"clusters"}:
        assert in_order(found[table]) == in_order(expected[table]), table
    assert [row["name"] for row in found["configs"]] == ["a"]


def test_a_transaction_is_not_told_as_open_before_its_end_was_written():
    made = log_of([BeginTransactionRecord("t")], [topic_config("a", "1")], [EndTransactionRecord()])
    cluster = MemoryCluster(files=made.files())
    assert rows_of(cluster.fleet(as_of=7))["problems"] == []
    assert rows_of(cluster.fleet(as_of=7))["configs"] == []
    assert [row["name"] for row in rows_of(cluster.fleet(as_of=8))["configs"]] == ["a"]


def test_markers_of_transactions_that_contradict_each_other_are_told():
    made = log_of([EndTransactionRecord()], [AbortTransactionRecord("none")], [BeginTransactionRecord("a")],
                  [BeginTransactionRecord("b")], [topic_config("a", "1"), EndTransactionRecord()])  # fmt: skip
    found = rows_of(MemoryCluster(files=made.files()).fleet())
    assert told(found) == [("inconsistent record", LOG, offset) for offset in (5, 6, 8)]
    assert [row["detail"].rpartition(": ")[2] for row in found["problems"]] == [
        "no transaction has begun", "no transaction has begun", "the transaction of offset 7 is still open",
    ]  # fmt: skip
    assert [row["name"] for row in found["configs"]] == ["a"]


def test_a_topic_that_is_not_there_is_named_by_whoever_changes_it():
    made = log_of([ClearElrRecord("nobody")], [PartitionChangeRecord(7, b"o" * 16)], [RemoveTopicRecord(b"x" * 16)],
                  [TopicRecord("orders", b"p" * 16)], [TopicRecord("other", b"o" * 16)])  # fmt: skip
    found = rows_of(MemoryCluster(files=made.files()).fleet())
    assert told(found) == [("inconsistent record", LOG, offset) for offset in range(5, 10)]
    assert [row["detail"].rpartition(": ")[2] for row in found["problems"]] == [
        "no topic has this name", "topic orders has no such partition", "no topic has this id",
        "the name orders is taken", "the id is taken",
    ]  # fmt: skip
    assert [row["name"] for row in found["topics"]] == ["orders"]


def test_many_records_that_contradict_what_is_there_are_told_in_one_row():
    changes = [PartitionChangeRecord(number, b"x" * 16) for number in range(REPORTED_MAX + 50)]
    made = log_of(changes)
    found = rows_of(MemoryCluster(files=made.files()).fleet())
    assert [row["count"] for row in found["problems"]] == [1] * REPORTED_MAX + [50]
    assert found["problems"][-1]["detail"].endswith("no topic has this id; it is the first of 50 more like it")
    assert len(found["partitions"]) == 2


# --- As of an offset


def test_an_offset_behind_the_log_is_refused():
    with pytest.raises(InventoryError, match="cluster made: as_of is 6, and the metadata log ends at offset 5"):
        metadata_state(MemoryCluster(files=log_of().files()).fleet(as_of=6))


def test_a_cluster_that_never_ran_is_known_as_of_offset_0(kafka_directory):
    for as_of in (None, 0):
        found = rows_of(fleet_cluster(kafka_directory("4.0.0-formatted"), as_of=as_of))
        assert facts(found, "end_offset", "metadata_version") == (0, 25)
    with pytest.raises(InventoryError, match="as_of is 1, and the metadata log ends at offset 0"):
        metadata_state(fleet_cluster(kafka_directory("4.0.0-formatted"), as_of=1))


def test_a_damaged_bootstrap_file_is_told(kafka_directory, tmp_path):
    [meta] = sorted(Path(kafka_directory("4.0.0-formatted")).glob("*/meta.properties"))[:1]
    (tmp_path / "d0").mkdir()
    (tmp_path / "d0" / "meta.properties").write_bytes(meta.read_bytes())
    (tmp_path / "d0" / "bootstrap.checkpoint").write_bytes(
        b"no snapshot at all, but longer than the head of a batch is"
    )
    found = rows_of(fleet_cluster(tmp_path))
    assert [row["kind"] for row in found["problems"]] == ["unreadable file"]
    assert facts(found, "is_complete", "metadata_version") == (False, None)


# --- Files that cannot be read


class BrokenDisk(MemoryDisk):
    """Some things cannot be read."""

    def __init__(self, disk, broken):
        self.__dict__.update(disk.__dict__)
        self._broken = broken

    def read(self, path, position=0, length=None):
        if path.endswith(self._broken):
            raise PermissionError(13, "Permission denied", path)
        return super().read(path, position, length)

    def list(self, directory):
        if directory.endswith(self._broken):
            raise PermissionError(13, "Permission denied", directory)
        return super().list(directory)


def on_broken_disk(made, broken):
    cluster = MemoryCluster(files=made.files())
    disk = BrokenDisk(cluster.disk(), broken)
    [node] = cluster.fleet().nodes
    log_dir = replace(node.log_dirs[0], location=replace(node.log_dirs[0].location, disk=disk))
    return replace(cluster.fleet(), nodes=(replace(node, log_dirs=(log_dir,), metadata_dir=log_dir),))


def test_a_segment_that_cannot_be_read_is_told():
    made = log_of([topic_config("a", "1")], [topic_config("b", "2")])
    made.segments = [0, 5, 6]
    found = rows_of(on_broken_disk(made, f"{5:020}.log"))
    assert ("unreadable file", f"{5:020}.log", None) in told(found)
    assert facts(found, "is_complete", "end_offset") == (False, 7)
    assert [row["name"] for row in found["configs"]] == ["b"]


def test_a_metadata_partition_that_cannot_be_listed_is_told():
    state = metadata_state(on_broken_disk(log_of(), "__cluster_metadata-0"), tables=frozenset({"clusters", "problems"}))
    found = {name: [row for batch in batches for row in batch.to_pylist()] for name, batches in state.tables.items()}
    assert [row["kind"] for row in found["problems"]] == ["unreadable file"]
    assert facts(found, "chosen_node", "end_offset") == (None, 0)


class DiskWithDirectories(MemoryDisk):
    """Directories stand in the place of some files."""

    def __init__(self, disk, directories):
        self.__dict__.update(disk.__dict__)
        self._in_place_of = "/" + directories

    def read(self, path, position=0, length=None):
        if path.endswith(self._in_place_of):
            raise IsADirectoryError(21, "Is a directory", path)
        return super().read(path, position, length)

    def size(self, path):
        if path.endswith(self._in_place_of):
            raise IsADirectoryError(21, "Is a directory", path)
        return super().size(path)


@pytest.mark.parametrize("name", [
    f"{9:020}-{1:010}.checkpoint", f"{0:020}.log", f"{8:020}.log", "quorum-state",
])  # fmt: skip
def test_a_directory_in_a_files_place_does_not_hide_the_snapshot(name):
    made = with_snapshots()
    cluster = MemoryCluster(files=made.files() | {name: b""})
    [node] = cluster.fleet().nodes
    disk = DiskWithDirectories(cluster.disk(), name)
    log_dir = replace(node.log_dirs[0], location=replace(node.log_dirs[0].location, disk=disk))
    found = rows_of(replace(cluster.fleet(), nodes=(replace(node, log_dirs=(log_dir,), metadata_dir=log_dir),)))
    assert {row["name"] for row in found["configs"]} == {"a", "b", "c"}
    assert [row for row in told(found) if row[0] != "no majority"] == [("unreadable file", name, None)]


# --- What a snapshot covers


@pytest.mark.parametrize("segments", [[0], [0, 3]])
@pytest.mark.parametrize("data", [b"", bytes(300), b"whatever this is, it is not a log of Kafka's at all" * 3])
def test_an_emptied_log_behind_a_snapshot_is_a_problem_and_not_complete(segments, data):
    made = with_snapshots()
    made.segments = segments
    files = made.files() | {f"{base:020}.log": data for base in segments}
    found = rows_of(MemoryCluster(files=files).fleet())
    assert ("gap", f"{segments[-1]:020}.log", 0) in told(found)
    assert found["problems"][-1]["detail"].endswith(
        "the newest snapshot ends at 7: what was written behind that is missing"
    )
    assert facts(found, "is_complete", "end_offset") == (False, 7)
    assert {row["name"] for row in found["configs"]} == {"a", "b"}


def test_a_log_that_ends_before_its_snapshot_is_not_complete():
    made = with_snapshots()
    made.segments = [0]
    files = made.files()
    files[LOG] = b"".join(batch.data() for batch in made.batches[:2])
    found = rows_of(MemoryCluster(files=files).fleet())
    assert told(found) == [("gap", LOG, 5)]
    assert found["problems"][0]["detail"].startswith("the log ends at offset 5, the newest snapshot ends at")
    assert facts(found, "is_complete") == (False,)


def test_a_segment_that_begins_where_the_snapshot_ends_may_be_empty():
    made = with_snapshots()
    made.batches, made.segments, made.log_start = made.batches[:-1], [7], 7
    found = rows_of(MemoryCluster(files=made.files()).fleet())
    assert (found["problems"], facts(found, "is_complete", "end_offset")) == ([], (True, 7))


def test_an_empty_segment_behind_a_gap_is_a_problem():
    made = with_snapshots()
    made.segments, made.log_start = [9], 9
    found = rows_of(MemoryCluster(files=made.files()).fleet())
    assert told(found) == [("gap", f"{9:020}.log", 9)]
    assert facts(found, "is_complete") == (False,)


def without_places(rows):
    return [{name: value for name, value in row.items() if "written" not in name} for row in rows]


def spoiled(data, how):
    if how == "a flipped bit":
        damaged = bytearray(data)
        damaged[70] ^= 1
        return bytes(damaged)
    return {"emptied": b"", "cut": data[:-30], "no header": b"\xff" * 30 + data[30:]}[how]


@pytest.mark.parametrize("how", ["a flipped bit", "emptied", "cut", "no header"])
def test_damage_that_a_sound_later_snapshot_covers_is_told_and_blocks_nobody(how):
    made = with_snapshots()
    sound = rows_of(MemoryCluster(files=made.files()).fleet())
    found = rows_of(MemoryCluster(files=made.files() | {LOG: spoiled(made.files()[LOG], how)}).fleet())
    assert found["problems"]
    assert {row["source"].rpartition("/")[2] for row in found["problems"]} <= {LOG, f"{6:020}.log"}
    assert facts(found, "is_complete", "end_offset") == (True, 8)
    for table in ("topics", "partitions", "configs"):
        assert without_places(found[table]) == without_places(sound[table])


def test_the_end_of_a_transaction_that_is_damaged_before_a_snapshot_holds_nothing_back():
    made = log_of([BeginTransactionRecord("t")], [topic_config("a", "1")], [EndTransactionRecord()])
    made.add((topic_config("b", "2"), 0))
    made.snapshots = [made.end_offset - 1]
    data = bytearray(made.files()[LOG])
    data[sum(len(batch.data()) for batch in made.batches[:4]) + 70] ^= 1
    found = rows_of(MemoryCluster(files=made.files() | {LOG: bytes(data)}).fleet())
    assert facts(found, "is_complete") == (True,)
    assert {row["name"] for row in found["configs"]} == {"a", "b"}


def test_damage_in_the_segment_that_goes_on_from_the_snapshot_is_covered_up_to_its_end():
    made = with_snapshots()
    made.segments = [0]
    sizes = [len(batch.data()) for batch in made.batches]
    for index, is_complete in ((1, True), (3, True), (4, False)):
        data = bytearray(made.files()[LOG])
        data[sum(sizes[:index]) + 70] ^= 1
        found = rows_of(MemoryCluster(files=made.files() | {LOG: bytes(data)}).fleet())
        assert [row["kind"] for row in found["problems"]] == ["corrupt batch"]
        assert facts(found, "is_complete") == (is_complete,), index
