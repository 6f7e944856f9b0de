"""Offsets committed and pending."""

from falkirk.coordinator.prediction.offsets import Offsets


def test_an_offset_is_committed_until_its_tombstone():
    offsets = Offsets()
    offsets.commit("g", b"p", None)
    offsets.commit("g", b"p", None)
    assert offsets.committed_by("g") == {b"p"}
    offsets.delete("g", b"p")
    offsets.delete("g", b"p")
    assert offsets.committed_by("g") == set()
    assert offsets.committed == {}


def test_pending_offsets_are_committed_or_dropped_by_their_producer_alone():
    offsets = Offsets()
    offsets.commit("g", b"p", 1)
    offsets.commit("g", b"q", 2)
    offsets.end_transaction(3, is_commit=True)
    assert offsets.pending_by_group() == {"g": {b"p", b"q"}}
    offsets.end_transaction(1, is_commit=True)
    offsets.end_transaction(2, is_commit=False)
    assert (offsets.committed_by("g"), offsets.pending) == ({b"p"}, {})


def test_a_tombstone_ends_what_is_pending_only_where_the_release_does_so():
    for ends in (True, False):
        offsets = Offsets(tombstones_end_pending=ends)
        offsets.commit("g", b"p", 1)
        offsets.delete("g", b"p")
        assert bool(offsets.pending) != ends
