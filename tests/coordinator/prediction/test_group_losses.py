"""How losses of groups are told."""

import struct

from group_records import Log, member, offset_key

from falkirk.coordinator.prediction.group_losses import group_conversion, group_losses, reported_group
from falkirk.coordinator.prediction.groups import readable_groups
from falkirk.versions.release import Release

PLACE = {"name": "__consumer_offsets-4", "source": "d0/__consumer_offsets-4"}


def answer(log, release):
    return readable_groups(Release.parse(release), {4: log.entries})


def test_a_record_that_ends_the_load_is_told_with_what_its_key_says():
    log = Log("4.4")
    log.commit("g")
    log.tombstone(15, "shared")
    [loss] = group_losses(answer(log, "4.0"), **PLACE)
    assert loss.as_json() == {
        "kind": "group_record",
        "key": "group shared: share group state partition metadata (15)",
        "key_fields": {"group": "shared", "type": 15, "partition": 4},
        "record": "share group state partition metadata (15)",
        "offset": 1,
        "source": "d0/__consumer_offsets-4",
        "before": {"tombstone": True},
        "after": None,
        "detail": loss.detail,
    }
    assert loss.detail.startswith("with it Kafka 4.0 would load no group of __consumer_offsets-4: ")


def test_a_record_without_a_key_is_of_no_group():
    log = Log("4.4")
    log.raw(None, b"")
    [loss] = group_losses(answer(log, "4.4"), **PLACE)
    assert loss.key == "no group: no type"


def test_offsets_that_go_with_their_records_come_back_by_undo():
    log = Log("4.4")
    log.raw(offset_key("g", 1), struct.pack(">h", 9) + bytes(30))
    _, loss = group_losses(answer(log, "4.0"), **PLACE)
    assert (loss.kind, loss.offset, loss.before) == (
        "committed_offsets",
        None,
        {"members": 0, "committed_offsets": 1},
    )
    assert loss.detail == "1 of its offsets are not served in Kafka 4.0; undo puts its records back"


def test_a_share_group_that_stays_as_dead_data_comes_back_by_an_upgrade():
    log = Log("4.4")
    log.value(11, "shared", epoch=1)
    [loss] = group_losses(answer(log, "3.9"), **PLACE)
    assert (loss.kind, loss.record) == ("share_group", "share group")
    assert loss.detail.endswith("; the records stay, and count again after an upgrade")


def test_a_tombstone_that_goes_so_that_offsets_are_served_is_no_loss():
    log = Log("4.4")
    log.commit("g")
    log.tombstone(2, {"group": "g"})
    log.value(17, "g", epoch=1)
    found = answer(log, "4.0")
    assert group_losses(found, **PLACE) == []
    [told] = [group_conversion(group, found.release, name="__consumer_offsets-4") for group in found.groups]
    assert told is not None
    assert told.text.startswith("group g: the tombstone at offset 1 of __consumer_offsets-4 goes, ")
    assert told.text.endswith("behind which Kafka 4.0 would hide its 1 offsets")


def test_most_groups_need_no_conversion():
    log = Log("4.4")
    log.commit("g")
    found = answer(log, "4.0")
    assert [group_conversion(group, found.release, name="") for group in found.groups] == [None]


def test_what_becomes_of_a_group_is_one_clause():
    log = Log("4.4")
    log.value(5, member("modern"))
    log.commit("modern")
    log.commit("plain")
    log.value(11, "shared", epoch=1)
    assert {group.group_id: reported_group(group).detail for group in answer(log, "3.9").groups} == {
        "modern": "appears empty; its 1 offsets stay",
        "plain": "readable as it is",
        "shared": "not readable: 1 group",
    }
