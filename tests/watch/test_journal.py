"""Events are stored once, with what they left behind, and by one watch at a time."""

import sqlite3
import subprocess
import sys

import pytest
from watch_events import ALL, bookmark, event

from falkirk.watch.core.findings import EventKind, Findings
from falkirk.watch.core.transitions import KnownWay
from falkirk.watch.errors import WatchError
from falkirk.watch.journal import Bookmark, Journal


def test_what_was_stored_is_there_after_a_restart(tmp_path):
    path = tmp_path / "deep" / "watch.sqlite"
    known = {"3.9": KnownWay(is_closed=True, is_blocked=None), "4.0": KnownWay(is_closed=False, is_blocked=True)}
    with Journal(path) as journal:
        assert journal.bookmark("prod") is None
        journal.commit("prod", Bookmark(cluster_id="id", end_offset=7, known=known), [event("a")], {"log": ALL}, 10)
    with Journal(path) as journal:
        assert journal.bookmark("prod") == Bookmark(cluster_id="id", end_offset=7, known=known)
        assert journal.events() == [(1, event("a"))]
        assert [delivery.event.key for delivery in journal.next_of(["log"])] == ["a"]


def test_an_event_that_comes_again_is_stored_and_delivered_once(tmp_path):
    with Journal(tmp_path / "j") as journal:
        for _ in range(2):
            journal.commit("prod", bookmark(1), [event("a")], {"log": ALL}, 10)
            for delivery in journal.next_of(["log"]):
                journal.delivered(delivery, 11)
        assert len(journal.events()) == 1
        assert journal.next_of(["log"]) == []
        assert journal.waiting_count() == 0


def test_a_channel_gets_the_kinds_that_it_wants(tmp_path):
    with Journal(tmp_path / "j") as journal:
        wanted = {"log": ALL, "hook": frozenset({EventKind.WAY_OPENED})}
        journal.commit("prod", bookmark(1), [event("a"), event("b", EventKind.WAY_OPENED)], wanted, 10)
        assert [delivery.event.key for delivery in journal.next_of(["log", "hook"])] == ["a", "b"]


def test_a_second_watch_on_a_journal_is_refused_and_the_first_goes_on(tmp_path):
    path = tmp_path / "j"
    with Journal(path) as journal:
        code = (
            "import sys, pathlib\n"
            "from falkirk.watch.journal import Journal\n"
            "from falkirk.watch.errors import WatchError\n"
            "try: Journal(pathlib.Path(sys.argv[1]))\nexcept WatchError as error: print(error)"
        )
        other = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
        assert "another watch has this journal open" in other.stdout
        journal.commit("prod", bookmark(1), [event("a")], {}, 10)
    with Journal(path) as journal:
        assert len(journal.events()) == 1


def test_a_full_disk_leaves_the_journal_as_it_was_and_is_named(tmp_path):
    with Journal(tmp_path / "j") as journal:
        journal.commit("prod", bookmark(1), [], {}, 10)
        [pages] = journal._database.execute("PRAGMA page_count").fetchone()
        journal._database.execute(f"PRAGMA max_page_count = {pages}")
        many = [event(f"{number}-{'x' * 2000}") for number in range(200)]
        with pytest.raises(WatchError, match=r"j: database or disk is full"):
            journal.commit("prod", bookmark(9), many, {"log": ALL}, 11)
        assert journal.bookmark("prod").end_offset == 1
        assert journal.events() == []
        journal._database.execute("PRAGMA max_page_count = 100000")
        journal.commit("prod", bookmark(9), many, {"log": ALL}, 12)
        assert len(journal.events()) == 200


def test_a_file_that_is_no_journal_and_one_of_another_version_are_refused(tmp_path):
    damaged = tmp_path / "damaged"
    damaged.write_bytes(b"no database at all, but long enough to be read as one" * 100)
    with pytest.raises(WatchError, match="damaged: file is not a database"):
        Journal(damaged)
    newer = tmp_path / "newer"
    database = sqlite3.connect(newer)
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(WatchError, match="newer: a journal of version 99"):
        Journal(newer)


def test_moments_are_kept_up_to_a_number_and_found_by_time(tmp_path, monkeypatch):
    monkeypatch.setattr("falkirk.watch.journal._MOMENTS_KEPT", 3)
    with Journal(tmp_path / "j") as journal:
        for at_ms in range(10, 60, 10):
            journal.add_moment(
                Findings(
                    cluster="prod", cluster_id="id", at_ms=at_ms, is_fresh=True, sources=(), metadata_version="4.3-IV0"
                )
            )
        assert journal.moments("prod") == [30, 40, 50]
        assert journal.moment("prod", 45).at_ms == 40
        assert journal.moment("prod", 29) is None
