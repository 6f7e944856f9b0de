"""Which batches of the metadata log lower metadata.version: the log knows after every way that it can change."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from kraft_batches import data_batch, leader_change

from falkirk.protocol.level_change import LevelChange
from falkirk.protocol.messages import FeatureLevelRecord, NoOpRecord, TopicRecord
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.protocol.record_batch import read_batches
from falkirk.storage.level_changes import level_changes_in, level_of
from falkirk.storage.memory_disk import MemoryDisk
from falkirk.storage.metadata_log import MetadataLog
from falkirk.storage.snapshot_writer import write_snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

DIRECTORY = "/d0/__cluster_metadata-0"
NO_OP = encode_metadata_record(NoOpRecord(), 0)


def level(number: int, name: str = "metadata.version") -> bytes:
    return encode_metadata_record(FeatureLevelRecord(name, number), 0)


def opened(disk: MemoryDisk) -> MetadataLog:
    return MetadataLog(disk, "/d0")


def filled(disk: MemoryDisk, *batches: Sequence[bytes]) -> MetadataLog:
    """Append batches of these values, in epoch 1, behind its leader change."""
    log = opened(disk)
    log.append(leader_change(log.end_offset, 1))
    for values in batches:
        log.append(data_batch(log.end_offset, 1, values))
    return log


def snapshot(log: MetadataLog, offset: int, at_level: int) -> OffsetAndEpoch:
    made = OffsetAndEpoch(offset, 1)
    creation = log.begin_snapshot(
        made,
        [level(at_level)],
        level=at_level,
        kraft_version=0,
        voters=None,
        last_contained_log_timestamp=5,
        clock=lambda: 7,
    )
    assert creation is not None
    while not creation.step():
        pass
    return made


def test_a_batch_that_lowers_the_level_is_known_when_it_is_appended_and_when_the_log_is_opened():
    disk = MemoryDisk()
    log = filled(disk, [level(20)], [NO_OP, level(19), NO_OP], [level(25)], [level(7, "group.version")], [level(20)])
    lowered = (LevelChange(2, 5, 19), LevelChange(7, 8, 20))
    assert log.lowerings == lowered
    assert opened(disk).lowerings == lowered


def test_the_level_of_a_snapshot_is_found_without_splitting_all_of_its_records():
    class Batch:
        def value_runs(self, _run_length):
            yield [level(20)]
            raise AssertionError("the rest was read")

    assert level_of(SimpleNamespace(data_batches=[Batch()])) == 20


def test_the_level_of_a_new_cluster_and_a_raise_lower_nothing():
    assert filled(MemoryDisk(), [level(20)], [level(20)], [level(21)]).lowerings == ()


def test_what_formatting_says_is_no_level_that_the_cluster_was_at():
    disk = MemoryDisk()
    disk.make_directory(DIRECTORY)
    chunks = write_snapshot(
        [level(30)], epoch=0, last_contained_log_timestamp=0, clock=lambda: 7, kraft_version=0, voters=None
    )
    disk.write(f"{DIRECTORY}/00000000000000000000-0000000000.checkpoint", chunks)
    assert filled(disk, [level(20)]).lowerings == ()


def test_what_is_cut_off_lowered_nothing():
    log = filled(MemoryDisk(), [level(20)], [level(19)], [NO_OP])
    log.truncate(3)
    assert log.lowerings == (LevelChange(2, 3, 19),)
    log.truncate(2)
    assert log.lowerings == ()


def test_the_level_of_the_snapshot_at_the_logs_beginning_counts():
    disk = MemoryDisk()
    log = filled(disk, [level(20)], [NO_OP])
    made = snapshot(log, 3, 20)
    log.segment_from(3)
    log.delete_before(made)
    log.append(data_batch(3, 1, [level(20)]))
    assert log.lowerings == ()
    log.append(data_batch(4, 1, [level(19)]))
    assert log.lowerings == (LevelChange(4, 5, 19),)
    assert opened(disk).lowerings == log.lowerings


def test_a_change_counts_as_a_lowering_where_nobody_knows_what_was_before():
    disk = MemoryDisk()
    log = filled(disk, [level(20)])
    log.segment_from(2)
    log.append(data_batch(2, 1, [level(19)]))
    made = snapshot(log, 3, 19)
    # As a crash may leave it: the first segment is gone, the second, which the snapshot covers, is not yet.
    log.delete_before(made)
    reopened = opened(disk)
    assert (reopened.start_offset, reopened.latest_snapshot) == (2, made)
    assert reopened.lowerings == (LevelChange(2, 3, 19),)


def test_a_fetched_snapshot_takes_the_lowerings_with_the_log():
    log = filled(MemoryDisk(), [level(20)], [level(19)])
    fetched = OffsetAndEpoch(9, 1)
    data = b"".join(
        write_snapshot(
            [level(19)], epoch=1, last_contained_log_timestamp=0, clock=lambda: 7, kraft_version=0, voters=None
        )
    )
    log.write_snapshot_chunk(fetched, 0, data)
    log.install_snapshot(fetched)
    assert log.lowerings == ()


@pytest.mark.parametrize("behind", [[], [[NO_OP], [NO_OP]]])
def test_a_log_that_is_cleaned_through_a_lowering_has_nothing_of_it_on_the_disk(behind):
    disk = MemoryDisk()
    log = filled(disk, [level(20)], [level(19)], *behind)
    assert log.segment_from(3) == log.end_offset
    assert log.segment_from(3) == log.end_offset, "the segment is made once"
    log.append(data_batch(log.end_offset, 1, [NO_OP]))
    log.delete_before(snapshot(log, log.end_offset, 19))

    assert [name for name in disk.list(DIRECTORY) if name.endswith(".log")] == [
        f"{3 + len(behind):020d}.log",
    ]
    for kept in (log, opened(disk)):
        assert kept.lowerings == ()
        assert kept.end_offset == 4 + len(behind)


def test_a_cleaned_log_without_records_opens_at_its_snapshot():
    disk = MemoryDisk()
    log = filled(disk, [level(20)], [level(19)])
    assert log.segment_from(3) == 3
    made = snapshot(log, 3, 19)
    log.delete_before(made)
    assert [name for name in disk.list(DIRECTORY) if name.endswith((".log", ".checkpoint"))] == [
        "00000000000000000003-0000000001.checkpoint"
    ]
    reopened = opened(disk)
    assert (reopened.start_offset, reopened.end_offset, reopened.last_epoch) == (3, 3, 1)
    reopened.append(data_batch(3, 1, [NO_OP]))
    assert opened(disk).end_offset == 4


def test_words_that_only_look_like_a_level_are_none():
    topic = encode_metadata_record(TopicRecord("metadata.version", bytes(16)), 0)
    broken = level(19)[:-3]
    for value in (topic, broken, level(1, "x.metadata.version")):
        (batch,) = read_batches(data_batch(0, 1, [value]))
        assert list(level_changes_in(batch)) == []
