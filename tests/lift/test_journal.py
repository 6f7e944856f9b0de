"""The journal of a lift survives what cuts it off."""

import msgspec
import pytest

from falkirk.lift.errors import LiftError
from falkirk.lift.journal import JOURNAL, Entry, Journal, Originals, OriginalVoter, VoterListener

VOTER = OriginalVoter(
    node_id=1, directory_id="00" * 16, listeners=(VoterListener(name="CONTROLLER", host="kafka-1", port=9093),)
)
BEFORE = Originals(cluster_id="c", leader_id=1, voters=(VOTER,), levels={"metadata.version": 30}, target="3.9-IV0")


def begun(tmp_path) -> Journal:
    journal = Journal(tmp_path / "state")
    journal.append(Entry(at_ms=1, event="originals", fields=msgspec.to_builtins(BEFORE)))
    journal.append(Entry(at_ms=2, event="begun", step="join"))
    return journal


def test_entries_come_back_in_order_with_the_cluster_as_it_was(tmp_path):
    journal = begun(tmp_path)
    assert [(entry.event, entry.step) for entry in journal.read()] == [("originals", None), ("begun", "join")]
    assert journal.originals() == BEFORE
    assert not journal.is_over
    journal.append(Entry(at_ms=3, event="finished"))
    assert journal.is_over


def test_there_is_nothing_before_the_first_entry(tmp_path):
    journal = Journal(tmp_path / "state")
    assert journal.read() == []
    assert journal.originals() is None


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_line_that_a_crash_cut_off_is_ignored_and_overwritten(tmp_path, cut):
    journal = begun(tmp_path)
    path = journal.directory / JOURNAL
    path.write_bytes(path.read_bytes()[:-cut])
    assert [entry.event for entry in journal.read()] == ["originals"]
    journal.append(Entry(at_ms=3, event="begun", step="lead"))
    assert [entry.step for entry in journal.read()] == [None, "lead"]


def test_another_damage_is_named_with_its_line(tmp_path):
    journal = begun(tmp_path)
    path = journal.directory / JOURNAL
    path.write_bytes(b"{}\n" + path.read_bytes())
    with pytest.raises(LiftError, match=r"journal\.jsonl: line 1 cannot be read: "):
        journal.read()
