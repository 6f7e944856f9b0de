"""Compaction: the last record of each key stays, with its offset; what need not stay goes in its time."""

import errno
import random
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from compacted_logs import (
    ABORT,
    COMMIT,
    COMPACTED,
    NOW,
    PARTITION,
    batches_of,
    end_transaction,
    open_log,
    put,
    random_log,
)

from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record_batch import read_batches
from falkirk.storage.log.compaction import CleanableRange, Compaction, CompactionDroppedError
from falkirk.storage.log.housekeeping_settings import HousekeepingSettings
from falkirk.storage.log.log_cleaner import LogCleaner, cleanable_range
from falkirk.storage.log.log_config import LogConfig
from falkirk.storage.log.log_manager import LogManager
from falkirk.storage.log.read import FetchIsolation
from falkirk.storage.memory_disk import MemoryDisk
from falkirk.storage.offset_checkpoints import parse_offset_checkpoint

RETENTION = 24 * 3600 * 1000
MIB = 1 << 20
# Each batch of one record in a segment of its own.
SINGLE = {"segment_bytes": 80, "cleanup_policy": COMPACTED}


def compact(log, *, checkpoint=None, now_ms=NOW, map_bytes_max=MIB):
    compaction = Compaction(log, cleanable_range(log, checkpoint, now_ms), map_bytes_max=map_bytes_max, now_ms=now_ms)
    while not compaction.step():
        pass
    return compaction.end_offset


def contents(log):
    return [
        (record.offset, record.key, record.value)
        for batch in batches_of(log)
        if not batch.is_control
        for record in batch.records()
    ]


def single_log(*pairs, **config):
    log = open_log(MemoryDisk(), LogConfig(**SINGLE | config))
    for pair in pairs:
        put(log, pair)
    return log


def test_the_last_record_of_each_key_stays_where_it_was():
    log = single_log((b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"c", b"1"), (b"b", b"2"), (b"x", b"active"))
    assert compact(log) == 5
    assert contents(log) == [(2, b"a", b"2"), (3, b"c", b"1"), (4, b"b", b"2"), (5, b"x", b"active")]


def test_what_was_clean_gives_way_to_what_is_dirty():
    log = single_log((b"a", b"1"), (b"b", b"1"), (b"x", b"active"))
    checkpoint = compact(log)
    put(log, (b"a", b"2"))
    put(log, (b"y", b"active"))
    assert compact(log, checkpoint=checkpoint) == 4
    assert [(key, value) for _, key, value in contents(log)] == [
        (b"b", b"1"),
        (b"x", b"active"),
        (b"a", b"2"),
        (b"y", b"active"),
    ]


def test_a_tombstone_goes_after_its_retention_which_the_first_cleaning_begins():
    log = single_log((b"a", b"1"), (b"a", None), (b"b", b"1"), (b"x", b"active"))
    compact(log)
    assert contents(log)[0] == (1, b"a", None)
    (horizon,) = {batch.delete_horizon_ms for batch in batches_of(log)} - {None}
    assert horizon == NOW + RETENTION
    compact(log, now_ms=NOW + RETENTION - 1)
    assert contents(log)[0] == (1, b"a", None)
    compact(log, now_ms=NOW + RETENTION)
    assert [key for _, key, _ in contents(log)] == [b"b", b"x"]


def test_data_of_aborted_transactions_goes_at_once_and_their_markers_later():
    log = open_log(MemoryDisk(), LogConfig(**SINGLE))
    for producer_id, kind in ((1, ABORT), (2, COMMIT)):
        put(
            log,
            (b"k%d" % producer_id, b"v"),
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=True,
        )
        end_transaction(log, producer_id, kind)
        # The next batches keep the sequences.
        put(log, (b"other%d" % producer_id, b"v"), producer_id=producer_id, producer_epoch=0, base_sequence=1)
    put(log, (b"x", b"active"))
    compact(log)
    assert [key for _, key, _ in contents(log)] == [b"other1", b"k2", b"other2", b"x"]
    assert [batch.base_offset for batch in batches_of(log) if batch.is_control] == [1, 4]
    assert log.read(0, 10_000, FetchIsolation.TXN_COMMITTED).aborted_transactions
    compact(log)
    assert [batch.delete_horizon_ms for batch in batches_of(log) if batch.is_control] == [NOW + RETENTION, None]
    compact(log, now_ms=NOW + RETENTION)
    assert [batch.base_offset for batch in batches_of(log) if batch.is_control] == [4]


def test_what_a_producer_writes_after_an_abort_counts_where_a_round_begins_between_the_two():
    log = open_log(MemoryDisk(), LogConfig(cleanup_policy=COMPACTED, index_interval_bytes=1, segment_bytes=1000))
    fields = {"producer_id": 1, "producer_epoch": 0, "is_transactional": True}
    put(log, (b"a", b"1"))
    put(log, (b"x", b"aborted"), base_sequence=0, **fields)
    end_transaction(log, 1, ABORT)
    put(log, (b"a", b"2"), base_sequence=1, **fields)
    end_transaction(log, 1, COMMIT)
    put(log, (b"f", b"v" * 1000))
    compact(log, checkpoint=3)
    assert [(offset, key) for offset, key, _ in contents(log)] == [(3, b"a"), (5, b"f")]


def test_the_last_sequence_of_a_producer_survives_its_records():
    log = open_log(MemoryDisk(), LogConfig(**SINGLE))
    put(log, (b"a", b"1"), producer_id=7, producer_epoch=3, base_sequence=40)
    put(log, (b"a", b"2"))
    put(log, (b"x", b"active"))
    compact(log)
    first = batches_of(log)[0]
    assert (first.record_count, first.producer_id, first.producer_epoch, first.last_sequence) == (0, 7, 3, 40)


def test_the_last_offset_of_what_was_cleaned_survives():
    log = single_log((b"a", b"1"), (b"b", b"1"), (b"b", None), (b"x", b"active"))
    compact(log)
    compact(log, now_ms=NOW + RETENTION)
    assert [(batch.last_offset, batch.record_count) for batch in batches_of(log)] == [(0, 1), (2, 0), (3, 1)]


def test_records_without_a_key_go():
    log = single_log((None, b"1"), (b"x", b"active"), cleanup_policy=frozenset(("delete",)))
    log.config = LogConfig(**SINGLE)
    compact(log)
    assert contents(log) == [(1, b"x", b"active")]


def test_small_segments_are_put_together_up_to_the_size_of_one():
    log = single_log(*((b"k%d" % index, b"v") for index in range(20)))
    log.config = LogConfig(**SINGLE | {"segment_bytes": 400})
    before = contents(log)
    compact(log)
    assert contents(log) == before
    assert 3 < len(log.segments) < 8
    assert all(segment.size <= 400 for segment in log.segments)


def test_keys_that_find_no_room_are_left_for_the_next_round():
    log = single_log(*((b"k%d" % (index % 10), b"v") for index in range(40)), (b"x", b"active"))
    checkpoint = compact(log, map_bytes_max=1000)
    assert 0 < checkpoint < 40
    for _ in range(40):
        checkpoint = compact(log, checkpoint=checkpoint, map_bytes_max=1000)
        if checkpoint == 40:
            break
    assert [(offset, key) for offset, key, _ in contents(log)] == [
        *((30 + index, b"k%d" % index) for index in range(10)),
        (40, b"x"),
    ]


def test_long_keys_are_told_apart():
    log = single_log(
        (b"a" * 500, b"1"), (b"a" * 499 + b"b", b"1"), (b"a" * 500, b"2"), (b"x", b"active"), segment_bytes=600
    )
    compact(log)
    assert [offset for offset, *_ in contents(log)] == [1, 2, 3]


def test_a_log_that_is_cut_meanwhile_is_left_as_it_is():
    log = single_log((b"a", b"1"), (b"a", b"2"), (b"a", b"3"), (b"x", b"active"))
    compaction = Compaction(log, cleanable_range(log, None, NOW), map_bytes_max=MIB, now_ms=NOW)
    assert not compaction.step()
    log.truncate_to(2)
    with pytest.raises(CompactionDroppedError):
        compaction.step()
    compaction.drop()
    assert [offset for offset, *_ in contents(log)] == [0, 1]


def test_a_log_whose_directory_is_renamed_meanwhile_is_left_as_it_is():
    log = single_log((b"a", b"1"), (b"a", b"2"), (b"b", b"3"))
    compaction = Compaction(log, cleanable_range(log, None, NOW), map_bytes_max=MIB, now_ms=NOW)
    before = contents(log)
    while compaction._cleaned is None:
        compaction.step()
    log.rename("moved-0")
    with pytest.raises(CompactionDroppedError):
        compaction.step()
    compaction.drop()

    assert contents(log) == before
    assert not [name for name in log._local._disk.list(log.directory) if name.endswith(".cleaned")]
    compact(log)
    assert contents(log) != before


def test_a_policy_that_changes_meanwhile_ends_it():
    log = single_log((b"a", b"1"), (b"a", b"2"), (b"x", b"active"))
    compaction = Compaction(log, cleanable_range(log, None, NOW), map_bytes_max=MIB, now_ms=NOW)
    log.config = LogConfig()
    with pytest.raises(CompactionDroppedError):
        compaction.step()


@pytest.mark.slow
@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), rounds=st.integers(1, 3))
def test_readers_of_a_compacted_log_come_to_the_same_state(seed, rounds):
    disk = MemoryDisk()
    log = random_log(disk, seed, batches=30)
    expected, end = committed_state(log), log.log_end_offset
    producers = log.active_producers()
    checkpoint = None
    chance = random.Random(seed)
    for at in range(rounds):
        map_bytes_max = chance.choice((500, 2000, MIB))
        checkpoint = compact(log, checkpoint=checkpoint, now_ms=NOW + at * RETENTION, map_bytes_max=map_bytes_max)
    assert committed_state(log) == expected
    assert offsets_increase(log)
    assert log.size == sum(segment.size for segment in log.segments)
    log.close()
    again = open_log(disk, log.config)
    assert again.log_end_offset == end
    assert committed_state(again) == expected
    last = {each.producer_id: (each.last_sequence, each.last_offset) for each in again.active_producers()}
    assert last == {each.producer_id: (each.last_sequence, each.last_offset) for each in producers}


def committed_state(log):
    """What a table made from the log holds: keys and values, without aborted data."""
    log.update_high_watermark(log.log_end_offset)
    state, offset = {}, log.log_start_offset
    while offset < log.log_end_offset:
        fetched = log.read(offset, 1 << 20, FetchIsolation.TXN_COMMITTED, is_one_batch_needed=True)
        offset = apply(state, fetched)
    return {key: value for key, value in state.items() if value is not None}


def apply(state, fetched):
    aborted = sorted(fetched.aborted_transactions, key=lambda each: each.first_offset)
    ongoing = set()
    for batch in read_batches(fetched.records):
        while aborted and aborted[0].first_offset <= batch.last_offset:
            ongoing.add(aborted.pop(0).producer_id)
        if batch.is_control:
            ongoing.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in ongoing):
            state.update((record.key, record.value) for record in batch.records())
    return batch.end_offset


def offsets_increase(log):
    ends = [(batch.base_offset, batch.end_offset) for batch in batches_of(log)]
    return all(before[1] <= after[0] for before, after in pairwise(ends))


class StoppingDisk(MemoryDisk):
    """Raises at the n-th change of names."""

    left = None

    def rename(self, source, target):
        self._count()
        super().rename(source, target)

    def remove(self, path):
        self._count()
        super().remove(path)

    def _count(self):
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise OSError(5, "stopped")


def compact_again_and_again(log):
    for at in range(50):
        compact(log, now_ms=NOW + at)


@pytest.mark.parametrize("stop_after", range(0, 60, 3))
def test_a_crash_while_segments_are_swapped_loses_nothing(stop_after):
    disk = StoppingDisk()
    log = random_log(disk, 5)
    expected = committed_state(log)
    log.flush()
    disk.left = stop_after
    with pytest.raises(OSError, match="stopped"):
        compact_again_and_again(log)
    disk.left = None
    again = open_log(disk, log.config)
    assert again.log_end_offset == log.log_end_offset
    assert committed_state(again) == expected


# --- Which log, and when


def test_only_closed_segments_below_the_last_stable_offset_are_cleanable():
    log = single_log((b"a", b"1"), (b"a", b"2"), (b"a", b"3"))
    assert cleanable_range(log, None, NOW).first_uncleanable_offset == 2
    log.high_watermark = 1
    assert cleanable_range(log, None, NOW).first_uncleanable_offset == 1
    put(log, (b"b", b"1"), producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    put(log, (b"x", b"active"))
    put(log, (b"x", b"active"))
    assert cleanable_range(log, None, NOW).first_uncleanable_offset == 3


def test_min_compaction_lag_spares_what_is_young():
    log = open_log(MemoryDisk(), LogConfig(**SINGLE | {"min_compaction_lag_ms": 1000}))
    for age in (3000, 2000, 500, 0):
        put(log, (b"a", b"1"), now_ms=NOW - age)
    assert cleanable_range(log, None, NOW).first_uncleanable_offset == 2


def test_max_compaction_lag_makes_it_urgent():
    log = single_log((b"a", b"1"), (b"x", b"active"), max_compaction_lag_ms=1000)
    assert not cleanable_range(log, None, NOW + 1000).is_urgent
    assert cleanable_range(log, None, NOW + 1001).is_urgent


def test_a_checkpoint_that_can_not_be_is_the_log_start():
    log = single_log((b"a", b"1"), (b"a", b"2"), (b"a", b"3"))
    assert cleanable_range(log, 99, NOW).first_dirty_offset == 0
    log.increment_log_start_offset(1)
    assert cleanable_range(log, 0, NOW).first_dirty_offset == 1
    assert cleanable_range(log, 3, NOW).first_dirty_offset == 2


def open_manager(disk, config, *, clean=()):
    manager = LogManager.begin(
        disk,
        {"/d1": b"1" * 16},
        clean_log_dirs=clean,
        settings=HousekeepingSettings(),
        config_of=lambda topic: config if topic == PARTITION.topic else LogConfig(segment_bytes=80),
        wanted_directory=lambda *_: b"1" * 16,
        chance=random.Random(1),
        now_ms=NOW,
    )
    assert manager.load_some()
    return manager


def run(manager, from_ms, until_ms):
    now_ms = from_ms
    for _ in range(2000):
        manager.tick(now_ms)
        now_ms = max(manager.next_wakeup_ms, now_ms)
        if now_ms > until_ms:
            return
    raise AssertionError("it never comes to rest")


def test_the_manager_compacts_what_is_dirty_enough_and_remembers_it():
    disk = MemoryDisk()
    disk.make_directory("/d1")
    config = LogConfig(**SINGLE)
    manager = open_manager(disk, config)
    dirty = manager.get_or_create(PARTITION, b"t" * 16, config)
    other = manager.get_or_create(PARTITION._replace(topic="d"), b"t" * 16, LogConfig(segment_bytes=80))
    for log in (dirty, other):
        for value in (b"1", b"2", b"3"):
            put(log, (b"a", value))
    run(manager, NOW, NOW + 60_000)
    assert [offset for offset, *_ in contents(dirty)] == [1, 2]
    assert len(contents(other)) == 3
    path = "/d1/cleaner-offset-checkpoint"
    assert parse_offset_checkpoint(disk.read(path), file=path).as_dict() == {PARTITION: 2}
    put(dirty, (b"b", b"1"))
    put(dirty, (b"x", b"active"))
    list(manager.shutdown_slices())
    again = open_manager(disk, config, clean=("/d1",))
    run(again, NOW + 60_000, NOW + 120_000)
    assert parse_offset_checkpoint(disk.read(path), file=path).as_dict() == {PARTITION: 4}


def with_three_values(disk):
    """Return a manager and its only log, which has three values of one key."""
    disk.make_directory("/d1")
    config = LogConfig(**SINGLE)
    manager = open_manager(disk, config)
    log = manager.get_or_create(PARTITION, b"t" * 16, config)
    for value in (b"1", b"2", b"3"):
        put(log, (b"a", value))
    return manager, log


def test_a_disk_that_fails_while_a_compaction_is_abandoned_does_not_keep_logs_from_being_closed():
    class Disk(MemoryDisk):
        is_broken = False

        def remove(self, path):
            if self.is_broken:
                raise OSError(errno.EIO, "Input/output error", path)
            super().remove(path)

    disk = Disk()
    manager, _ = with_three_values(disk)
    now_ms = NOW
    while not any("cleaned" in name for name in disk.list("/d1/c-0")):
        now_ms = max(manager.next_wakeup_ms, now_ms)
        manager.tick(now_ms)
    disk.is_broken = True
    list(manager.shutdown_slices())
    assert not manager.pop_failed()


def test_a_log_in_which_a_batch_cannot_be_read_is_left_alone():
    disk = MemoryDisk()
    manager, log = with_three_values(disk)
    data = disk.read("/d1/c-0/00000000000000000001.log")
    disk.write("/d1/c-0/00000000000000000001.log", [data[:61] + bytes(len(data) - 61)])
    log.segments[1].close()
    with pytest.raises(RemoteProtocolError):
        compact(log)
    run(manager, NOW, NOW + 60_000)
    assert len(log.segments) == 3
    assert not any(name.endswith(".cleaned") for name in disk.list("/d1/c-0"))


def test_of_very_many_logs_some_are_looked_at_in_a_step(monkeypatch):
    monkeypatch.setattr("falkirk.storage.log.log_cleaner._LOGS_AT_ONCE", 4)
    monkeypatch.setattr("falkirk.storage.log.log_cleaner._CHECKS_AT_ONCE", 2)
    looks, checks = [], []

    class CountedLog:
        directory = "/d1/c-0"
        topic_partition = PARTITION

        def __init__(self, policy):
            self._config = LogConfig(cleanup_policy=frozenset((policy,)))

        @property
        def config(self):
            looks[-1] += 1
            return self._config

    def nothing_dirty(*_):
        checks[-1] += 1
        return CleanableRange(first_dirty_offset=0, first_uncleanable_offset=0, clean_bytes=0, dirty_bytes=0)

    monkeypatch.setattr("falkirk.storage.log.log_cleaner.cleanable_range", nothing_dirty)
    logs = dict.fromkeys(CountedLog(policy) for policy in ["delete"] * 9 + ["compact"] * 9)
    settings = HousekeepingSettings(log_initial_task_delay_ms=0)
    directories = {"/d1": SimpleNamespace(logs=logs, cleaner_offsets={})}
    cleaner = LogCleaner(directories, settings=settings, failed=lambda *_: None, now_ms=NOW)
    now_ms = NOW
    while now_ms < NOW + settings.log_cleaner_backoff_ms:
        looks.append(0)
        checks.append(0)
        cleaner.run(now_ms)
        now_ms = cleaner.next_wakeup_ms
    # Of the third four only the two compacted ones that a step may check, and one before them.
    assert looks == [4, 4, 3, 2, 2, 2, 1]
    assert checks == [0, 0, 2, 2, 2, 2, 1]
