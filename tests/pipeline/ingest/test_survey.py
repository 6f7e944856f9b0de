from collections import Counter
from dataclasses import replace

import pytest
from data_files import live_files
from fleet_clusters import fleet_cluster
from ingested_rows import made_pieces
from made_clusters import MadeCluster
from pyarrow import parquet
from tests.support.watched_clusters import BEGIN_MS, HOUR_MS, made_event, made_findings

from falkirk.pipeline.errors import InventoryError
from falkirk.pipeline.filesystem import open_location
from falkirk.pipeline.fleet import FleetCluster
from falkirk.pipeline.ingest.run import _check_seen
from falkirk.pipeline.ingest.survey import IngestOptions, survey_cluster
from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.warehouse.commit import Change
from falkirk.pipeline.warehouse.manifest import Manifest
from falkirk.pipeline.warehouse.warehouse import Warehouse
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.messages import TopicRecord
from falkirk.protocol.record import Record
from falkirk.storage.posix_disk import PosixDisk
from falkirk.watch.journal import Bookmark, Journal


def survey(root, warehouse):
    Warehouse.make(str(warehouse))
    options = IngestOptions(warehouse=str(warehouse), tables=frozenset(TABLES), split_bytes=1 << 20)
    return survey_cluster(fleet_cluster(root), [], options)


def test_a_directory_that_cannot_be_listed_is_a_problem_and_the_rest_is_read(tmp_path, monkeypatch):
    made = MadeCluster(root=tmp_path / "c", partitions={"__consumer_offsets-0": []}).make()
    denied = str(made.metadata(1))
    real = PosixDisk.list

    def deny(disk, directory):
        if directory == denied:
            raise PermissionError(13, "Permission denied", directory)
        return real(disk, directory)

    monkeypatch.setattr(PosixDisk, "list", deny)
    found = survey(made.root, tmp_path / "w")
    assert [piece.key for piece in found.pieces] == ["unreadable"]
    assert [(unit.kind, unit.partition) for unit in found.units] == [("group_state", 0)]


def test_everything_of_a_new_cluster_is_work(tmp_path):
    made = MadeCluster(root=tmp_path / "c").make()
    found = survey(made.root, tmp_path / "w")
    assert [piece.key for piece in found.pieces] == ["log_dirs", "metadata"]
    assert {unit.kind for unit in found.units} == {"metadata_records"}
    assert found.before is None


def test_directories_in_the_place_of_files_hide_nothing_else(tmp_path):
    made = MadeCluster(root=tmp_path / "c", partitions={"__consumer_offsets-0": []}).make()
    for folder in (made.metadata(1), made.log_dir(1) / "__consumer_offsets-0"):
        (folder / f"{99:020}.log").mkdir()
        (folder / f"{99:020}-{1:010}.checkpoint").mkdir()
    found = survey(made.root, tmp_path / "w")
    assert [piece.key for piece in found.pieces] == ["log_dirs", "metadata"]
    assert {unit.kind for unit in found.units} == {"metadata_records", "group_state"}


def ingested(cluster, warehouse, tables=TABLES, **options):
    """One ingest without Spark; returns the pieces, and the keys of those that were made."""
    cluster = cluster if isinstance(cluster, FleetCluster) else fleet_cluster(cluster)
    place = Warehouse.make(str(warehouse))
    given = IngestOptions(warehouse=place.uri, tables=frozenset(tables), split_bytes=1 << 20, **options)
    with place.writing():
        found = survey_cluster(cluster, [], given)
        made = made_pieces(found, given)
        pieces = {piece.key: piece for piece in (*found.pieces, *made)}
        place.commit([Change(found.cluster, found.before, Manifest(cluster=found.cluster, pieces=pieces))])
    before = {} if found.before is None else found.before.pieces
    return pieces, {key for key, piece in pieces.items() if piece != before.get(key)}


def test_what_other_readers_made_is_made_anew(tmp_path, monkeypatch):
    made = MadeCluster(root=tmp_path / "c", partitions={"__consumer_offsets-0": []}).make()
    pieces, first = ingested(made.root, tmp_path / "w")
    assert first == set(pieces)
    assert ingested(made.root, tmp_path / "w")[1] == set()
    for module in ("survey", "run_unit"):
        monkeypatch.setattr(f"falkirk.pipeline.ingest.{module}.MADE_BY", "2-other")
    assert ingested(made.root, tmp_path / "w")[1] == first
    assert ingested(made.root, tmp_path / "w")[1] == set()


def test_a_rebuild_reads_everything_again_and_leaves_other_tables(tmp_path):
    made = MadeCluster(root=tmp_path / "c", partitions={"__consumer_offsets-0": []}).make()
    pieces, _ = ingested(made.root, tmp_path / "w")
    with_rows = {key for key, piece in pieces.items() if piece.files}
    assert ingested(made.root, tmp_path / "w", rebuild=True)[1] == with_rows
    again, of_topics = ingested(made.root, tmp_path / "w", tables=["topics"], rebuild=True)
    assert of_topics == {"metadata"}
    assert set(again) == set(pieces)
    assert live_files(Warehouse.open(str(tmp_path / "w"))) == {
        file.path for piece in again.values() for file in piece.files
    }


def test_all_partitions_of_a_coordinator_make_one_file_of_each_table(tmp_path):
    log = [data_batch(0), data_batch(1)]
    made = MadeCluster(root=tmp_path / "c", partitions={f"__consumer_offsets-{number}": log for number in range(50)})
    made.make()
    pieces, _ = ingested(made.root, tmp_path / "w")
    place = Warehouse.open(str(tmp_path / "w"))
    per_table = Counter(file.partition("/")[0] for file in live_files(place))
    assert per_table["group_records"] == 1
    assert set(per_table.values()) == {1}
    assert sum(key.startswith("group_records") for key in pieces) == 50


def test_pieces_that_share_a_file_with_a_changed_one_are_made_anew(tmp_path):
    names = ["__consumer_offsets-0", "__consumer_offsets-1"]
    made = MadeCluster(root=tmp_path / "c", partitions={name: [data_batch(0)] for name in names})
    made.make()
    ingested(made.root, tmp_path / "w")
    before = rows_of(tmp_path / "w", "group_records")
    segment = made.log_dir(1) / names[0] / f"{0:020}.log"
    # One log only grows: its new bytes are a file of their own. The states of both are made anew.
    with segment.open("ab") as file:
        file.write(data_batch(1))
    _, made_anew = ingested(made.root, tmp_path / "w")
    assert {key.split()[0] for key in made_anew} == {"group_records", "group_state", "log_dirs"}
    assert sum(key.startswith("group_records") for key in made_anew) == 1
    assert len(rows_of(tmp_path / "w", "group_records")) == len(before) + 1
    # One log is written anew: the other shared its file.
    segment.write_bytes(data_batch(5))
    _, made_anew = ingested(made.root, tmp_path / "w")
    assert sum(key.startswith("group_records") for key in made_anew) == 2
    found = rows_of(tmp_path / "w", "group_records")
    assert sorted((row["source"].split("/")[-2], row["offset"]) for row in found) == [(names[0], 5), (names[1], 0)]


def data_batch(offset):
    key, value = bytes.fromhex("0002000167"), bytes.fromhex("0003") + bytes(20)
    return build_batch([Record(offset, 0, key, value)], base_offset=offset, leader_epoch=0)


def rows_of(warehouse, table):
    place = Warehouse.open(str(warehouse))
    files = [path for path in live_files(place) if path.startswith(f"{table}/")]
    return [row for path in files for row in parquet.ParquetFile(warehouse / path).read().to_pylist()]


DAY_MS = 86_400_000
# 2026-11-24 at midnight, UTC.
MIDNIGHT_MS = 1_795_478_400_000


def test_each_days_last_ingest_leaves_a_mark(tmp_path):
    made = MadeCluster(root=tmp_path / "c").make()

    def ingested_at(ms, **options):
        ingested(made.root, tmp_path / "w", at_ms=ms, **options)
        return [(row["day"].day, row["partitions"], row["end_offset"]) for row in rows_of(tmp_path / "w", "trends")]

    [(_, _, end)] = ingested_at(MIDNIGHT_MS)
    assert ingested_at(MIDNIGHT_MS + DAY_MS, rebuild=True) == [(24, 0, end), (25, 0, end)]
    made.append((TopicRecord("orders", b"o" * 16), 0))
    assert ingested_at(MIDNIGHT_MS + 2 * DAY_MS - 1) == [(24, 0, end), (25, 0, end + 1)]
    # A day without a change leaves none, and no ingest forgets others.
    assert ingested_at(MIDNIGHT_MS + 3 * DAY_MS) == [(24, 0, end), (25, 0, end + 1)]
    made.append((TopicRecord("bills", b"b" * 16), 0))
    found = ingested_at(MIDNIGHT_MS + 9 * DAY_MS, tables=["topics"])
    assert found == [(24, 0, end), (25, 0, end + 1), (3, 0, end + 2)]
    ingested(replace(fleet_cluster(made.root), as_of=end), tmp_path / "w", at_ms=MIDNIGHT_MS + 12 * DAY_MS)
    assert [row["day"].day for row in rows_of(tmp_path / "w", "trends")] == [24, 25, 3]


def watched(made, journal):
    cluster = fleet_cluster(made.root)
    return replace(cluster, name="prod", watch_journal=open_location(str(journal)))


def watch_rows(pieces):
    return {file.table: file.rows for file in pieces["watch"].files}


def test_a_watchs_journal_joins_the_tables_and_only_what_changed_is_made_anew(tmp_path):
    made = MadeCluster(root=tmp_path / "c").make()
    cluster = watched(made, tmp_path / "j")
    with Journal(tmp_path / "j") as journal:
        bookmark = Bookmark(cluster_id=cluster.cluster_id, end_offset=1, known={})
        journal.commit("prod", bookmark, [made_event("prod", "way_closed", "4.1", BEGIN_MS)], {}, BEGIN_MS)
        journal.add_moment(made_findings(at_ms=BEGIN_MS))
        pieces, _ = ingested(cluster, tmp_path / "w")
        assert watch_rows(pieces) == {"watch_events": 1, "watch_ways": 7}
        assert "unreadable" not in pieces
        assert ingested(cluster, tmp_path / "w")[1] == set()
        journal.add_moment(made_findings(at_ms=BEGIN_MS + HOUR_MS))
    pieces, changed = ingested(cluster, tmp_path / "w")
    assert changed == {"watch"}
    assert watch_rows(pieces) == {"watch_events": 1, "watch_ways": 14}


def test_a_journal_that_cannot_be_read_leaves_its_rows_and_is_a_problem(tmp_path):
    made = MadeCluster(root=tmp_path / "c").make()
    cluster = watched(made, tmp_path / "j")
    with Journal(tmp_path / "j") as journal:
        journal.commit("prod", Bookmark(cluster_id="another", end_offset=1, known={}), [], {}, BEGIN_MS)
        journal.add_moment(made_findings(at_ms=BEGIN_MS))
    pieces, _ = ingested(cluster, tmp_path / "w")
    assert problems(pieces, tmp_path / "w") == [
        ("other cluster id", f"the watch follows cluster another, the directories are of {cluster.cluster_id}")
    ]
    (tmp_path / "j").write_bytes(b"damaged" * 1000)
    pieces, _ = ingested(cluster, tmp_path / "w")
    [(kind, detail)] = problems(pieces, tmp_path / "w")
    assert (kind, "j: file is not a database" in detail) == ("unreadable file", True)
    assert watch_rows(pieces) == {"watch_ways": 7}
    kept, _ = ingested(replace(cluster, watch_journal=None), tmp_path / "w", tables=["clusters"])
    assert "watch" in kept
    assert "watch" not in ingested(replace(cluster, watch_journal=None), tmp_path / "w")[0]


def problems(pieces, warehouse):
    rows = [row for file in pieces["unreadable"].files for row in parquet.read_table(warehouse / file.path).to_pylist()]
    return [(row["kind"], row["detail"]) for row in rows]


def test_a_directory_that_only_workers_do_not_see_is_named(tmp_path):
    made = MadeCluster(root=tmp_path / "c").make()
    cluster = fleet_cluster(made.root)
    made.root.rename(tmp_path / "elsewhere")
    Warehouse.make(str(tmp_path / "w"))
    options = IngestOptions(warehouse=str(tmp_path / "w"), tables=frozenset(TABLES), split_bytes=1 << 20)
    found = survey_cluster(cluster, [], options)
    directory = str(made.log_dir(1))
    assert found.unseen == (directory,)
    # It is gone here, too: a problem of the cluster.
    _check_seen([found])
    (tmp_path / "elsewhere").rename(made.root)
    with pytest.raises(InventoryError, match=f"^{directory}: not seen by Spark's worker on {found.host}: "):
        _check_seen([found])
