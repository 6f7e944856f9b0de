import shutil
from pathlib import Path

import pytest
from fleet_clusters import CLUSTER_NAMES, fleet_cluster
from stopped_clusters import DISK, cluster_at

from falkirk.logdir.metadata_log import read_metadata_log
from falkirk.pipeline.filesystem import open_location
from falkirk.pipeline.state.metadata.log_dir_rows import log_dir_row
from falkirk.pipeline.state.metadata.metadata_log_survey import survey_metadata_log
from falkirk.pipeline.tables.clusters import LOG_DIRS
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.record import Record
from falkirk.storage.snapshot_writer import write_snapshot

METADATA = "__cluster_metadata-0"


def rows_at(path):
    cluster = fleet_cluster(path)
    rows = [log_dir_row(log_dir, node.node_id) for node in cluster.nodes for log_dir in node.log_dirs]
    assert LOG_DIRS.rows(rows).num_rows == len(rows), "every value fits its column"
    return {row["path"]: row for row in rows}


def facts(row):
    """What can be told by looking into the folder oneself."""
    path = Path(row["path"])
    folders = [each for each in path.iterdir() if (each / "partition.metadata").exists() or each.name == METADATA]
    return {
        "node_id": int(next(line for line in (path / "meta.properties").read_text().split() if "node.id=" in line)[8:]),
        "is_clean": (path / ".kafka_cleanshutdown").exists(),
        "partitions": sum(each.name != METADATA for each in folders),
        "log_bytes": sum(log.stat().st_size for each in folders for log in each.glob("*.log")),
        "has_metadata": (path / METADATA).is_dir(),
    }


@pytest.mark.parametrize("name", CLUSTER_NAMES)
def test_a_directorys_row_tells_what_stands_in_it(kafka_directory, name):
    rows = rows_at(kafka_directory(name))
    cluster = cluster_at(kafka_directory(name))
    assert {Path(path) for path in rows} == {log_dir.path for node in cluster.nodes for log_dir in node.log_dirs}
    for row in rows.values():
        assert facts(row).items() <= row.items()
        assert row["cluster_id"] == cluster.cluster_id


@pytest.mark.parametrize("name", [name for name in CLUSTER_NAMES if "formatted" not in name])
def test_the_ends_of_a_metadata_log_are_those_of_the_reader_that_reads_all_of_it(kafka_directory, name):
    for path, row in rows_at(kafka_directory(name)).items():
        if not row["has_metadata"]:
            assert "metadata_end_offset" not in row
            continue
        log = read_metadata_log(DISK, Path(path) / METADATA)
        state = log.quorum_state
        assert (row["metadata_epoch"], row["metadata_end_offset"]) == (log.epoch, log.end_offset)
        assert (row["leader_id"], row["leader_epoch"], row["voted_id"]) == (
            state.leader_id,
            state.leader_epoch,
            state.voted_id,
        )
        if log.snapshot_id is None:
            assert (row["snapshot_end_offset"], row["snapshot_epoch"]) == (None, None)
        else:
            found = row["snapshot_end_offset"], row["snapshot_epoch"]
            assert found == (log.snapshot_id.end_offset, log.snapshot_id.epoch)


@pytest.mark.parametrize(("name", "level"), [("3.7.2", 19), ("3.9.1", 21), ("4.0.0", 25), ("4.3.1", 30)])
def test_a_formatted_directory_tells_its_bootstrap_level_and_no_metadata_log(kafka_directory, name, level):
    assert {row["bootstrap_level"] for row in rows_at(kafka_directory(f"{name}-formatted")).values()} == {level}


@pytest.fixture
def metadata(kafka_directory, tmp_path):
    """Return a copy of a node's metadata partition with nothing else beside it."""
    [source] = kafka_directory("4.3.1").glob(f"*/{METADATA}")
    copy = tmp_path / "d0" / METADATA
    shutil.copytree(source, copy)
    shutil.copy(source.parent / "meta.properties", copy.parent)
    return copy


def row_of(metadata):
    [row] = rows_at(metadata.parent).values()
    return row


def test_what_a_write_that_never_finished_leaves_does_not_count(metadata):
    log = metadata / "00000000000000000000.log"
    log.write_bytes(log.read_bytes()[:-5])
    assert row_of(metadata)["metadata_end_offset"] == 923


def test_a_damaged_last_batch_does_not_count(metadata):
    log = metadata / "00000000000000000000.log"
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)
    assert row_of(metadata)["metadata_end_offset"] == 923


def test_a_segment_that_was_just_rolled_leaves_the_end_where_it_was(metadata):
    (metadata / f"{924:020}.log").touch()
    assert row_of(metadata)["metadata_end_offset"] == 924


def test_a_snapshot_without_its_footer_is_none(metadata):
    before = row_of(metadata)["snapshot_end_offset"]
    newest = max(metadata.glob("*.checkpoint"))
    newest.write_bytes(newest.read_bytes()[:-40])
    other = metadata / f"{900:020}-{1:010}.checkpoint"
    other.write_bytes(build_batch([Record(0, 1, None, b"x" * 60)], base_offset=0, leader_epoch=1))
    assert row_of(metadata)["snapshot_end_offset"] < before


def test_a_footer_is_found_behind_bytes_that_look_like_a_batch(metadata):
    def snapshot(value):
        return b"".join(write_snapshot([value], epoch=1, last_contained_log_timestamp=1, clock=lambda: 1))

    plain = snapshot(bytes(100))
    at = plain.index(bytes(100)) + 20
    head = bytes(8) + (len(plain) - at - 12).to_bytes(4, "big") + bytes(4) + b"\x02"
    data = snapshot(bytes(20) + head + bytes(80 - len(head)))
    assert data.index(head) == at
    (metadata / f"{2000:020}-{1:010}.checkpoint").write_bytes(data)
    assert survey_metadata_log(open_location(str(metadata))).snapshots[0].end_offset == 2000


def test_a_snapshot_longer_than_the_log_says_where_the_metadata_ends(metadata):
    for log in metadata.glob("*.log"):
        log.unlink()
    row = row_of(metadata)
    assert row["metadata_end_offset"] == row["snapshot_end_offset"] > 0


def test_what_cannot_be_read_is_null(metadata):
    (metadata / "quorum-state").write_bytes(b"{")
    (metadata.parent / "bootstrap.checkpoint").write_bytes(b"no snapshot at all")
    row = row_of(metadata)
    assert (row["leader_id"], row["bootstrap_level"]) == (None, None)


def test_an_empty_metadata_partition_ends_nowhere(metadata):
    for file in metadata.iterdir():
        file.unlink()
    row = row_of(metadata)
    assert (row["has_metadata"], row["metadata_end_offset"], row["metadata_epoch"]) == (True, None, None)
