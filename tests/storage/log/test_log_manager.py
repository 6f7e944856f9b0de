"""All logs of a broker: found, made, moved, deleted; a directory that fails takes no other with it."""

import random
from itertools import pairwise

import pytest

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.record import Record
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.storage.errors import InconsistentTopicIdError, LogDirFailedError
from falkirk.storage.log import log_checkpoint, log_directory
from falkirk.storage.log.append import AppendOrigin
from falkirk.storage.log.housekeeping_settings import HousekeepingSettings
from falkirk.storage.log.log_config import LogConfig
from falkirk.storage.log.log_manager import DuplicateLogError, LogManager
from falkirk.storage.log.read import FetchIsolation
from falkirk.storage.memory_disk import MemoryDisk, MemoryLogFile
from falkirk.storage.offset_checkpoints import parse_offset_checkpoint

NOW = 1_700_000_000_000
ONE, TWO = b"1" * 16, b"2" * 16
DIRS = {"/d1": ONE, "/d2": TWO}
TOPIC_ID = b"t" * 16
T0, T1, T2 = (TopicPartition("t", index) for index in range(3))
CONFIG = LogConfig()
MIB = 1 << 20


class FailingDisk(MemoryDisk):
    """Fails below the paths that it is told."""

    def __init__(self):
        super().__init__()
        self.failing = ()
        for path in DIRS:
            self.make_directory(path)

    def write(self, path, chunks):
        self._check(path)
        super().write(path, chunks)

    def open_log_file(self, path):
        self._check(path)
        return super().open_log_file(path)

    def list(self, directory):
        self._check(directory)
        return super().list(directory)

    def make_directory(self, path):
        self._check(path)
        super().make_directory(path)

    def _check(self, path):
        if path.startswith(self.failing):
            raise OSError(5, "broken", path)


@pytest.fixture
def disk():
    return FailingDisk()


def open_manager(disk, **given):
    manager = begin_manager(disk, **given)
    assert manager.load_some()
    return manager


def begin_manager(disk, *, clean=(), config=CONFIG, wanted=ONE, now_ms=NOW, **settings):
    return LogManager.begin(
        disk,
        DIRS,
        clean_log_dirs=clean,
        settings=HousekeepingSettings(**settings),
        config_of=lambda _: config,
        wanted_directory=wanted if callable(wanted) else lambda *_: wanted,
        chance=random.Random(7),
        now_ms=now_ms,
    )


def append(log, *, now_ms=NOW, value=b"v"):
    data = build_batch([Record(0, now_ms, b"k", value)], base_offset=0)
    info = log.append_as_leader(data, 0, now_ms, origin=AppendOrigin.CLIENT)
    log.update_high_watermark(info.last_offset + 1)


def run(manager, now_ms, *, rounds=500):
    """Tick until nothing is left for now."""
    for _ in range(rounds):
        manager.tick(now_ms)
        if manager.next_wakeup_ms > now_ms:
            return
    raise AssertionError("it never comes to rest")


def checkpoint(disk, path):
    return parse_offset_checkpoint(disk.read(path), file=path).as_dict()


def names(disk, path="/d1"):
    return [name for name in disk.list(path) if disk.is_directory(f"{path}/{name}")]


def test_logs_go_where_the_fewest_are_or_where_they_are_wanted(disk):
    manager = open_manager(disk)
    logs = [manager.get_or_create(each, TOPIC_ID, CONFIG) for each in (T0, T1)]
    assert [manager.directory_id_of(log) for log in logs] == [ONE, TWO]
    wanted = manager.get_or_create(T2, TOPIC_ID, CONFIG, directory_id=TWO)
    assert wanted.directory == "/d2/t-2"
    assert manager.get_or_create(T2, TOPIC_ID, CONFIG) is wanted
    assert set(manager.logs()) == {*logs, wanted}


def test_cordoned_directories_get_only_what_is_wanted_there(disk):
    manager = open_manager(disk)
    manager.cordoned_log_dirs = ("/d1",)
    assert {manager.get_or_create(each, TOPIC_ID, CONFIG).directory for each in (T0, T1)} == {"/d2/t-0", "/d2/t-1"}
    assert manager.get_or_create(T2, TOPIC_ID, CONFIG, directory_id=ONE).directory == "/d1/t-2"


def test_of_directories_that_are_all_cordoned_the_first_gets_new_logs(disk):
    manager = open_manager(disk)
    manager.cordoned_log_dirs = DIRS
    assert {manager.get_or_create(each, TOPIC_ID, CONFIG).directory for each in (T0, T1)} == {"/d1/t-0", "/d1/t-1"}


def test_a_log_of_another_topic_of_that_name_is_not_given(disk):
    manager = open_manager(disk)
    manager.get_or_create(T0, TOPIC_ID, CONFIG)
    with pytest.raises(InconsistentTopicIdError):
        manager.get_or_create(T0, b"u" * 16, CONFIG)


def test_what_was_closed_in_order_is_found_as_it_was(disk):
    manager = open_manager(disk)
    log = manager.get_or_create(T0, TOPIC_ID, CONFIG)
    append(log)
    append(log)
    log.increment_log_start_offset(1)
    list(manager.shutdown_slices())
    again = open_manager(disk, clean=DIRS).get(T0)
    assert (again.log_start_offset, again.high_watermark, again.log_end_offset, again.topic_id) == (1, 2, 2, TOPIC_ID)
    assert again.recovery.scanned_segments == 0


def test_after_an_unclean_stop_logs_are_scanned_from_the_recovery_point(disk):
    manager = open_manager(disk)
    append(manager.get_or_create(T0, TOPIC_ID, CONFIG))
    again = open_manager(disk).get(T0)
    assert again.recovery.scanned_segments == 1
    assert again.log_end_offset == 1


def test_logs_are_loaded_a_few_at_a_time(disk):
    manager = open_manager(disk)
    partitions = [TopicPartition("t", index) for index in range(10)]
    for partition in partitions:
        append(manager.get_or_create(partition, TOPIC_ID, CONFIG))
    list(manager.shutdown_slices())
    again = begin_manager(disk, clean=DIRS)
    assert [again.load_some() for _ in range(3)] == [False, False, True]
    assert [again.get(partition).high_watermark for partition in partitions] == [1] * 10


def test_checkpoints_with_many_logs_are_read_in_several_steps(disk, monkeypatch):
    manager = open_manager(disk)
    for partition in (T0, T1):
        append(manager.get_or_create(partition, TOPIC_ID, CONFIG, directory_id=ONE))
    list(manager.shutdown_slices())
    monkeypatch.setattr("falkirk.storage.log.log_directory_loader.ENTRY_BYTES", 20 * MIB)

    again = begin_manager(disk, clean=DIRS)

    # Recovery points, high watermarks, then both logs.
    assert [again.load_some() for _ in range(3)] == [False, False, True]
    assert [again.get(partition).high_watermark for partition in (T0, T1)] == [1, 1]


def test_a_large_log_is_scanned_in_steps(disk, monkeypatch):
    monkeypatch.setattr("falkirk.storage.log.log_loader.SCANNED_AT_ONCE", MIB)
    manager = open_manager(disk)
    for _ in range(10):
        append(manager.get_or_create(T0, TOPIC_ID, CONFIG), value=bytes(MIB // 2))
    assert begin_manager(disk, clean=DIRS).load_some(5 * MIB)

    scanned = begin_manager(disk)
    steps = 1
    while not scanned.load_some(1):
        steps += 1

    # Two batches in each, and one more that opens it.
    assert steps >= 6
    assert scanned.get(T0).log_end_offset == 10
    assert scanned.get(T0).recovery.scanned_segments > 0


def test_what_is_wanted_counts_when_all_is_loaded(disk):
    manager = open_manager(disk)
    for partition in (T0, T1):
        manager.get_or_create(partition, TOPIC_ID, CONFIG, directory_id=ONE)
    list(manager.shutdown_slices())
    wanted = {T0: ONE, T1: ONE}
    again = begin_manager(disk, clean=DIRS, wanted=lambda partition, _: wanted.get(partition))
    assert not again.load_some(1)
    # Its topic is deleted before the other log is loaded.
    del wanted[T0]
    while not again.load_some(1):
        assert again.get(T1) is None
    assert (again.get(T0), [stray.path for stray in again.strays]) == (None, ["/d1/t-0"])
    assert again.get(T1) is not None


def test_loaded_logs_are_put_into_use_some_at_a_time(disk, monkeypatch):
    monkeypatch.setattr("falkirk.storage.log.log_manager.USED_AT_ONCE", 2)
    manager = open_manager(disk)
    partitions = [TopicPartition("t", index) for index in range(5)]
    for partition in partitions:
        manager.get_or_create(partition, TOPIC_ID, CONFIG)
    list(manager.shutdown_slices())
    judged = []

    def wanted(partition, _):
        judged.append(partition)
        return None if partition == partitions[0] else DIRS["/d1"] if partition.partition % 2 else ONE

    again = begin_manager(disk, clean=DIRS, wanted=wanted)
    counts = []
    while not again.load_some(1 << 40):
        counts.append(len(judged))
    assert len(judged) == 5
    assert all(later - earlier <= 2 for earlier, later in pairwise([0, *counts, 5]))
    assert len(counts) >= 2


def test_strays_are_put_aside_and_stay_there(disk):
    manager = open_manager(disk)
    manager.get_or_create(T0, TOPIC_ID, CONFIG)
    list(manager.shutdown_slices())
    again = open_manager(disk, clean=DIRS, wanted=None)
    assert again.get(T0) is None
    assert [stray.path for stray in again.strays] == ["/d1/t-0"]
    (name,) = names(disk)
    assert name.endswith("-stray")
    run(again, NOW + 3_600_000)
    assert names(disk) == [name]
    assert open_manager(disk).get(T0) is None


def test_a_deleted_log_goes_after_its_delay(disk):
    manager = open_manager(disk, config=CONFIG)
    append(manager.get_or_create(T0, TOPIC_ID, CONFIG))
    manager.get_or_create(T1, TOPIC_ID, CONFIG, directory_id=ONE)
    run(manager, NOW + 30_000)
    assert checkpoint(disk, "/d1/replication-offset-checkpoint") == {T0: 1, T1: 0}
    manager.delete(T0)
    assert manager.get(T0) is None
    run(manager, NOW + 30_001)
    # The next one that is written anyway is without it.
    assert checkpoint(disk, "/d1/replication-offset-checkpoint") == {T0: 1, T1: 0}
    run(manager, NOW + 60_000)
    assert checkpoint(disk, "/d1/replication-offset-checkpoint") == {T1: 0}
    assert [name.endswith("-delete") for name in names(disk)] == [True, False]
    run(manager, NOW + 90_001)
    assert names(disk) == ["t-1"]


def test_a_log_made_anew_under_the_same_name_is_not_taken_for_the_old_one(disk):
    manager = open_manager(disk)
    log = manager.get_or_create(T0, TOPIC_ID, CONFIG)
    append(log)
    append(log)
    log.increment_log_start_offset(2)
    log.flush()
    run(manager, NOW + 30_000)
    assert checkpoint(disk, "/d1/log-start-offset-checkpoint") == {T0: 2}
    manager.delete(T0)
    manager.get_or_create(T0, b"u" * 16, CONFIG, directory_id=ONE)
    # A crash: nothing more is written.
    assert open_manager(disk).get(T0).log_end_offset == 0


def test_deletions_go_on_after_a_restart(disk):
    manager = open_manager(disk)
    manager.get_or_create(T0, TOPIC_ID, CONFIG)
    manager.delete(T0)
    again = open_manager(disk, now_ms=NOW + 5)
    assert again.get(T0) is None
    run(again, NOW + 60_004)
    assert len(names(disk)) == 1
    run(again, NOW + 60_005)
    assert names(disk) == []


def test_a_future_log_takes_the_place_of_the_current_one(disk):
    manager = open_manager(disk)
    append(manager.get_or_create(T0, TOPIC_ID, CONFIG))
    future = manager.get_or_create(T0, TOPIC_ID, CONFIG, directory_id=TWO, is_future=True)
    assert future.directory.endswith("-future")
    future.append_as_follower(manager.get(T0).read(0, 1000, FetchIsolation.LOG_END).records)
    manager.replace_current_by_future(T0)
    assert manager.get(T0) is future
    assert manager.get(T0, is_future=True) is None
    assert (future.directory, future.high_watermark) == ("/d2/t-0", 1)
    append(future)
    assert [name.endswith("-delete") for name in names(disk)] == [True]


def test_a_move_that_was_broken_off_before_the_renaming_ends_at_the_start(disk):
    manager = open_manager(disk)
    manager.get_or_create(T0, TOPIC_ID, CONFIG)
    manager.get_or_create(T0, TOPIC_ID, CONFIG, directory_id=TWO, is_future=True)
    still_moving = open_manager(disk)
    assert still_moving.get(T0).directory == "/d1/t-0"
    assert still_moving.get(T0, is_future=True) is not None
    ended = open_manager(disk, wanted=TWO)
    assert ended.get(T0).directory == "/d2/t-0"
    assert ended.get(T0, is_future=True) is None


@pytest.mark.parametrize(("wanted", "kept"), [(ONE, "/d1/t-0"), (TWO, "/d2/t-0")])
def test_of_two_directories_the_wanted_one_stays(disk, wanted, kept):
    for path in DIRS:
        disk.make_directory(f"{path}/t-0")
    manager = open_manager(disk, wanted=wanted)
    assert manager.get(T0).directory == kept
    assert len(manager.strays) == 1


def test_two_directories_of_which_none_is_wanted_end_the_start(disk):
    for path in DIRS:
        disk.make_directory(f"{path}/t-0")
    with pytest.raises(DuplicateLogError, match="t-0"):
        open_manager(disk, wanted=bytes(16))


def test_a_directory_that_cannot_be_read_at_the_start_is_the_only_one_to_go(disk):
    manager = open_manager(disk)
    manager.get_or_create(T0, TOPIC_ID, CONFIG, directory_id=ONE)
    manager.get_or_create(T1, TOPIC_ID, CONFIG, directory_id=TWO)
    disk.failing = ("/d1",)
    again = open_manager(disk)
    assert again.get(T0) is None
    assert again.get(T1) is not None
    assert list(again.pop_failed()) == ["/d1"]
    assert again.pop_failed() == {}
    with pytest.raises(LogDirFailedError):
        again.get_or_create(T0, TOPIC_ID, CONFIG, directory_id=ONE)


def test_a_directory_that_fails_when_a_log_is_made_gives_way_to_the_next(disk):
    manager = open_manager(disk)
    disk.failing = ("/d1",)
    assert manager.get_or_create(T0, TOPIC_ID, CONFIG).directory == "/d2/t-0"
    assert list(manager.pop_failed()) == ["/d1"]
    disk.failing = ("/d1", "/d2")
    with pytest.raises(LogDirFailedError):
        manager.get_or_create(T1, TOPIC_ID, CONFIG)


def test_a_directory_that_fails_in_the_housekeeping_is_told(disk):
    manager = open_manager(disk)
    logs = [manager.get_or_create(each, TOPIC_ID, CONFIG) for each in (T0, T1)]
    for log in logs:
        append(log)
    disk.failing = ("/d1",)
    for _ in range(5):
        manager.tick(NOW + 5000)
    assert list(manager.pop_failed()) == ["/d1"]
    assert list(manager.logs()) == [logs[1]]
    assert checkpoint(disk, "/d2/replication-offset-checkpoint") == {T1: 1}


def test_old_segments_go_in_the_housekeeping_and_their_files_later(disk):
    config = LogConfig(segment_bytes=200, retention_ms=1000)
    manager = open_manager(disk, config=config)
    log = manager.get_or_create(T0, TOPIC_ID, config)
    for _ in range(5):
        append(log, value=b"v" * 100)
    assert len(log.segments) == 5
    run(manager, NOW + 30_000)
    assert log.log_start_offset == 5
    assert any(name.endswith(".deleted") for name in disk.list("/d1/t-0"))
    run(manager, NOW + 90_000)
    assert not any(name.endswith(".deleted") for name in disk.list("/d1/t-0"))


def test_a_tick_deletes_one_segment_and_the_next_one_goes_on(disk):
    config = LogConfig(segment_bytes=200, retention_ms=1000)
    manager = open_manager(disk, config=config)
    log, other = (manager.get_or_create(each, TOPIC_ID, config) for each in (T0, T1))
    for _ in range(20):
        append(log, value=b"v" * 100)
    append(other)
    run(manager, NOW)
    starts = []
    while manager.next_wakeup_ms <= NOW + 30_000:
        manager.tick(NOW + 30_000)
        starts.append(log.log_start_offset)
    assert starts[:5] == [1, 2, 3, 4, 5]
    assert (log.log_start_offset, other.log_start_offset) == (20, 1)
    run(manager, NOW + 90_000)
    assert not any(name.endswith(".deleted") for name in disk.list(log.directory))


def test_a_rolled_segment_is_flushed_with_the_next_ticks_one_after_the_other(disk):
    config = LogConfig(segment_bytes=200)
    manager = open_manager(disk, config=config)
    log = manager.get_or_create(T0, TOPIC_ID, config)
    run(manager, NOW)
    for _ in range(4):
        append(log, value=b"v" * 100)
    assert log.recovery_point == 0
    seen = []
    while manager.next_wakeup_ms <= NOW:
        manager.tick(NOW)
        seen.append(log.recovery_point)
    assert seen == [1, 2, 3]
    assert not disk.exists("/d1/recovery-point-offset-checkpoint")
    run(manager, NOW + 30_000)
    assert checkpoint(disk, "/d1/recovery-point-offset-checkpoint") == {T0: 3}


def test_segments_that_a_start_found_unsynced_are_flushed_before_the_recovery_points_are_written(disk):
    config = LogConfig(segment_bytes=200)
    log = open_manager(disk, config=config).get_or_create(T0, TOPIC_ID, config)
    for _ in range(4):
        append(log, value=b"v" * 100)
    again = open_manager(disk, config=config)
    assert again.get(T0).recovery_point == 0
    run(again, NOW + 30_000)
    assert checkpoint(disk, "/d1/recovery-point-offset-checkpoint") == {T0: 3}


def test_logs_are_gone_through_for_what_is_to_be_flushed_some_at_a_time(disk, monkeypatch):
    monkeypatch.setattr("falkirk.storage.log.log_housekeeping._LOGS_AT_ONCE", 2)
    manager = open_manager(disk)
    partitions = [TopicPartition("t", index) for index in range(7)]
    for partition in partitions:
        manager.get_or_create(partition, TOPIC_ID, CONFIG, directory_id=ONE)
    later = NOW + 120_000
    manager.tick(later)
    assert manager.next_wakeup_ms == later
    assert not disk.exists("/d1/recovery-point-offset-checkpoint")
    run(manager, later)
    assert len(checkpoint(disk, "/d1/recovery-point-offset-checkpoint")) == 7


def test_logs_are_gone_through_for_what_is_dirty_for_too_long_some_at_a_time(disk, monkeypatch):
    monkeypatch.setattr("falkirk.storage.log.log_housekeeping._LOGS_AT_ONCE", 2)
    config = LogConfig(flush_ms=0)
    manager = open_manager(disk, config=config, log_flush_scheduler_interval_ms=60_000)
    logs = [manager.get_or_create(TopicPartition("t", index), TOPIC_ID, config) for index in range(7)]
    for log in logs:
        append(log)
    later = NOW + 120_000
    steps = 0
    while any(log.recovery_point == 0 for log in logs):
        flushed = sum(log.recovery_point for log in logs)
        manager.tick(later)
        steps += 1
        # One log is synced in a step, and few are looked at.
        assert sum(log.recovery_point for log in logs) - flushed <= 1
        assert len(manager._housekeeping._to_flush) <= 2 * steps
    assert steps >= 7


def test_recovery_points_are_written_though_logs_are_rolled_all_the_time(disk):
    config = LogConfig(segment_bytes=200)
    manager = open_manager(disk, config=config)
    log = manager.get_or_create(T0, TOPIC_ID, config)
    for _ in range(20):
        append(log, value=b"v" * 100)
        manager.tick(NOW + 30_000)
    assert checkpoint(disk, "/d1/recovery-point-offset-checkpoint")[T0] > 0


def test_a_large_segment_is_synced_in_pieces(disk):
    config = LogConfig(segment_bytes=20 * MIB, max_message_bytes=10 * MIB)
    manager = open_manager(disk, config=config)
    log = manager.get_or_create(T0, TOPIC_ID, config)
    run(manager, NOW)
    for _ in range(3):
        append(log, value=bytes(9 * MIB))
    pieces, sync_ahead, sync = [], MemoryLogFile.sync_ahead, MemoryLogFile.sync
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryLogFile, "sync_ahead", lambda *each: (pieces.append(each[2]), sync_ahead(*each)))
        patch.setattr(MemoryLogFile, "sync", lambda each: (pieces.append("rest"), sync(each)))
        run(manager, NOW)
    assert pieces[:3] == [8 * MIB, 8 * MIB, "rest"]
    assert log.recovery_point == 2


def test_a_log_that_was_cut_before_its_flush_is_flushed_as_far_as_it_goes(disk):
    config = LogConfig(segment_bytes=200)
    manager = open_manager(disk, config=config)
    log = manager.get_or_create(T0, TOPIC_ID, config)
    for _ in range(4):
        append(log, value=b"v" * 100)
    log.truncate_to(2)
    run(manager, NOW)
    assert log.recovery_point == 2


def test_a_cut_is_checkpointed_before_anything_takes_the_place_of_what_was_there(disk):
    manager = open_manager(disk)
    log = manager.get_or_create(T0, TOPIC_ID, CONFIG)
    for _ in range(4):
        append(log)
    log.flush()
    log.increment_log_start_offset(3)
    run(manager, NOW + 30_000)
    assert checkpoint(disk, "/d1/recovery-point-offset-checkpoint") == {T0: 4}
    log.truncate_fully_and_start_at(1)
    assert checkpoint(disk, "/d1/recovery-point-offset-checkpoint") == {T0: 1}
    assert checkpoint(disk, "/d1/log-start-offset-checkpoint") == {}
    append(log)
    log.flush()
    list(manager.shutdown_slices())
    again = open_manager(disk, clean=DIRS).get(T0)
    append(again)
    again.truncate_to(1)
    assert checkpoint(disk, "/d1/recovery-point-offset-checkpoint") == {T0: 1}


def test_logs_are_flushed_by_time_if_the_broker_looks(disk):
    config = LogConfig(flush_ms=2000)
    manager = open_manager(disk, config=config, log_flush_scheduler_interval_ms=1000, log_initial_task_delay_ms=0)
    log = manager.get_or_create(T0, TOPIC_ID, config)
    append(log)
    run(manager, NOW)
    run(manager, NOW + 1999)
    assert log.recovery_point == 0
    run(manager, NOW + 2999)
    assert log.recovery_point == 1


def many_logs(disk, monkeypatch, count=10):
    """Return a manager whose checkpoints are written in steps of four logs."""
    for module in (log_directory, log_checkpoint):
        monkeypatch.setattr(module, "LOGS_AT_ONCE", 4)
    manager = open_manager(disk)
    for index in range(count):
        append(manager.get_or_create(TopicPartition("many", index), TOPIC_ID, CONFIG, directory_id=ONE))
    run(manager, NOW + 30_000)
    return manager


def test_a_checkpoint_of_many_logs_is_written_in_steps(disk, monkeypatch):
    manager = many_logs(disk, monkeypatch)
    for log in manager.logs():
        log.flush()
    path = "/d1/recovery-point-offset-checkpoint"
    before = checkpoint(disk, path)
    ticks = 0
    while checkpoint(disk, path) == before:
        manager.tick(NOW + 90_000)
        ticks += 1

    assert ticks >= 3
    assert checkpoint(disk, path) == {TopicPartition("many", index): 1 for index in range(10)}


def test_a_cut_while_a_checkpoint_is_collected_is_in_it(disk, monkeypatch):
    manager = many_logs(disk, monkeypatch)
    for log in manager.logs():
        log.flush()
    directory = manager._directories["/d1"]
    slices = directory.write_slices("recovery-point-offset-checkpoint")
    next(slices)

    manager.get(TopicPartition("many", 1)).truncate_to(0)
    list(slices)

    found = checkpoint(disk, "/d1/recovery-point-offset-checkpoint")
    assert found == {TopicPartition("many", index): int(index != 1) for index in range(10)}


def test_a_log_that_is_made_anew_while_a_checkpoint_is_collected_has_nothing_of_the_old_one(disk, monkeypatch):
    manager = many_logs(disk, monkeypatch)
    for log in manager.logs():
        log.flush()
    slices = manager._directories["/d1"].write_slices("recovery-point-offset-checkpoint")
    next(slices)

    manager.delete(TopicPartition("many", 1))
    manager.get_or_create(TopicPartition("many", 1), b"u" * 16, CONFIG, directory_id=ONE)
    list(slices)

    assert checkpoint(disk, "/d1/recovery-point-offset-checkpoint").get(TopicPartition("many", 1), 0) == 0


@pytest.mark.source
def test_one_tick_is_short_however_many_logs_there_are(disk):
    manager = open_manager(disk)
    for index in range(100):
        manager.get_or_create(TopicPartition("t", index), TOPIC_ID, CONFIG)
    checked = []
    for log in manager.logs():
        log.delete_old_segments = lambda _, log=log, **__: checked.append(log) or 0
    manager.tick(NOW + 30_000)
    assert 0 < len(checked) < 50
    assert manager.next_wakeup_ms == NOW + 30_000
    run(manager, NOW + 30_000)
    assert len(checked) == 100
