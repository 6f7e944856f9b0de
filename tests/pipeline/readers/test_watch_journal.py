"""The journal of a watch as rows of the warehouse: the reader knows the file that the watch writes."""

import sqlite3
from datetime import UTC, datetime

import pytest
from tests.support.watched_clusters import BEGIN_MS, HOUR_MS, made_event, made_findings, made_loss

from falkirk.pipeline.readers.watch_journal import WatchJournalError, reading_journal
from falkirk.pipeline.tables.watch import WATCH_EVENTS, WATCH_WAYS
from falkirk.watch.journal import Bookmark, Journal


def at(at_ms):
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def write(path, *, events=(), moments=()):
    with Journal(path) as journal:
        bookmark = Bookmark(cluster_id="6vbh4wk5T4Km8jEVAG4DaA", end_offset=1, known={})
        journal.commit("prod", bookmark, events, {}, BEGIN_MS + 5)
        for findings in moments:
            journal.add_moment(findings)
    return str(path)


def closed_event():
    loss = made_loss(3)
    place = {"log": loss.place.log, "offset": 303, "record": loss.place.record}
    return made_event("prod", "way_closed", "4.1", BEGIN_MS, loss={"kind": loss.kind, "key": loss.key, "place": place})


def test_events_and_ways_have_the_columns_of_their_tables(tmp_path):
    opened = made_event("prod", "way_opened", "4.1", BEGIN_MS + 1)
    path = write(tmp_path / "j", events=[closed_event(), opened], moments=[made_findings(), made_findings(losses=0)])
    with reading_journal(path, "prod") as journal:
        events, ways = list(journal.events()), list(journal.ways())
    for table, rows in ((WATCH_EVENTS, events), (WATCH_WAYS, ways)):
        assert rows
        assert all(row.keys() == set(table.schema.names) for row in rows)
        assert table.rows(rows).to_pylist() == rows
    assert [(row["kind"], row["loss_kind"], row["offset"]) for row in events] == [
        ("way_closed", "cordoned_log_dirs", 303),
        ("way_opened", None, None),
    ]
    assert events[0]["at"] == at(BEGIN_MS)
    assert events[0]["noted_at"] == at(BEGIN_MS + 5)


def test_each_moment_has_a_row_for_each_way(tmp_path):
    moments = [made_findings(losses=2, at_ms=BEGIN_MS), made_findings(losses=0, at_ms=BEGIN_MS + HOUR_MS)]
    path = write(tmp_path / "j", moments=moments)
    with reading_journal(path, "prod") as journal:
        rows = [row for row in journal.ways() if row["release"] == "4.1"]
    assert [(row["at"], row["state"], row["losses"], row["losses_by_kind"]) for row in rows] == [
        (at(BEGIN_MS), "closed", 2, [{"kind": "cordoned_log_dirs", "count": 2}]),
        (at(BEGIN_MS + HOUR_MS), "open", 0, []),
    ]
    assert (rows[0]["metadata_version"], rows[0]["lowest_level"], rows[0]["closed_at"]) == (30, 29, at(BEGIN_MS))


def test_it_is_read_while_a_watch_writes_it(tmp_path):
    with Journal(tmp_path / "j") as journal:
        journal.commit("prod", Bookmark(cluster_id="x", end_offset=1, known={}), [closed_event()], {}, BEGIN_MS)
        with reading_journal(str(tmp_path / "j"), "prod") as read:
            before = read.extent()
            journal.add_moment(made_findings())
            assert read.extent() == before, "all rows are of one moment"
        with reading_journal(str(tmp_path / "j"), "prod") as read:
            assert read.extent() != before


def test_another_cluster_another_version_and_no_journal_are_named(tmp_path):
    path = write(tmp_path / "j")
    with (
        reading_journal(path, "test") as journal,
        pytest.raises(WatchJournalError, match="j: follows no cluster 'test', but prod"),
    ):
        journal.cluster_id()
    damaged = tmp_path / "damaged"
    damaged.write_bytes(b"no database at all, but long enough to be read as one" * 100)
    newer = tmp_path / "newer"
    database = sqlite3.connect(newer)
    database.execute("PRAGMA user_version = 99")
    database.close()
    for file, words in ((damaged, "file is not a database"), (newer, "a journal of version 99"), (tmp_path / "no", "")):
        with pytest.raises(WatchJournalError, match=f"{file.name}: .*{words}"), reading_journal(str(file), "prod"):
            pass
