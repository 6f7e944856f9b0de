import random
from copy import deepcopy

import pytest
from data_logs import DIRECTORY, NOW, contents, marker, opened, produce, produced, replayed, stored

from falkirk.protocol.record_batch import read_batches
from falkirk.simulation.machine.disk import SimulatedCrashError, SimulatedDisk
from falkirk.storage.log.append import AppendOrigin
from falkirk.storage.log.unified_log import UnifiedLog
from falkirk.storage.memory_disk import MemoryDisk

CONFIG = {"segment_bytes": 450, "index_interval_bytes": 120}
DAY = 24 * 3600 * 1000


def filled(disk, count=20) -> UnifiedLog:
    log = opened(disk, **CONFIG)
    for at in range(count):
        produce(log, b"a", b"b", producer=(at % 2, 0, at // 2 * 2), epoch=at // 5, timestamp=NOW + at)
    return log


def log_file(base_offset, kind="log"):
    return f"{DIRECTORY}/{base_offset:020d}.{kind}"


def state(log):
    return (
        contents(log),
        log.log_start_offset,
        log.log_end_offset,
        list(log.segments.base_offsets),
        log.leader_epochs.entries,
        {entry.producer_id: entry for entry in log.active_producers()},
        [segment.largest for segment in log.segments],
    )


class ReadsCounted(MemoryDisk):
    """Counts the bytes of `.log` files that are read."""

    def __init__(self):
        super().__init__()
        self.bytes_read = 0

    def open_log_file(self, path):
        file = super().open_log_file(path)
        read = file.read

        def counted(position, length):
            data = read(position, length)
            if path.endswith(".log"):
                self.bytes_read += len(data)
            return data

        file.read = counted
        return file


def test_after_a_clean_stop_only_the_end_of_the_last_segment_is_read():
    disk = ReadsCounted()
    log = filled(disk, 100)
    size = log.size
    before = state(log)
    log.close()
    disk.bytes_read = 0
    log = opened(disk, recovery_point=log.recovery_point, **CONFIG)
    assert disk.bytes_read < 450 < size // 10
    assert (log.recovery.scanned_segments, log.recovery_point) == (0, 200)
    assert state(log) == before


def test_after_an_unclean_stop_what_is_behind_the_recovery_point_is_scanned():
    disk = MemoryDisk()
    log = filled(disk)
    before = state(log)
    bases = list(log.segments.base_offsets)
    for recovery_point, scanned in ((0, 4), (bases[2], 2), (bases[2] + 3, 2), (bases[2] - 1, 3), (40, 1), (999, 1)):
        log = opened(disk, recovery_point=recovery_point, had_clean_shutdown=False, **CONFIG)
        assert log.recovery.scanned_segments == scanned
        assert log.recovery_point == min(recovery_point, 40)
        assert state(log) == before


@pytest.mark.parametrize("zeros", [False, True])
def test_a_torn_end_is_cut_off(zeros):
    disk = MemoryDisk()
    log = filled(disk)
    path, size = log.segments.active.path, log.segments.active.size
    batch = len(produced([b"a", b"b"]))
    # The batch's own last byte is a zero.
    for cut in range(2, batch):
        torn = deepcopy(disk)
        torn.truncate(path, size - cut)
        if zeros:
            torn.append(path, bytes(cut))
        log = opened(torn, had_clean_shutdown=False, **CONFIG)
        assert (log.log_end_offset, log.recovery.cut.size_bytes) == (38, batch if zeros else batch - cut)
        assert torn.size(path) == log.segments.active.size == size - batch
        assert produce(log, b"a", b"b", producer=(1, 0, 18), epoch=4).first_offset == 38


def test_what_is_behind_damage_goes_segments_and_epochs_too():
    disk = MemoryDisk()
    log = filled(disk)
    bases = list(log.segments.base_offsets)
    data = bytearray(disk.read(log_file(bases[1])))
    data[100] ^= 1
    disk.write(log_file(bases[1]), [data])
    log = opened(disk, had_clean_shutdown=False, **CONFIG)
    kept = list(read_batches(contents(log)))
    assert log.log_end_offset == kept[-1].end_offset == bases[1] + 2
    assert list(log.segments.base_offsets) == bases[:2]
    assert [entry.epoch for entry in log.leader_epochs.entries] == [0, 1]
    assert {entry.producer_id: entry for entry in log.active_producers()} == replayed(kept)
    assert [name for name in disk.list(DIRECTORY) if name.endswith(".snapshot")] == [f"{bases[1]:020d}.snapshot"]
    assert log.recovery.removed == tuple(f"{base:020d}.log" for base in reversed(bases[2:]))


def test_what_is_behind_damage_is_counted_and_kept_whatever_is_damaged():
    # A length, a CRC, the content: of the second of five batches.
    for at in (8, 11, 17, 65):
        disk = MemoryDisk()
        log = opened(disk)
        for _ in range(5):
            produce(log, b"value")
        path, size = log.segments.active.path, log.segments.active.size // 5
        data = bytearray(disk.read(path))
        data[size + at] ^= 0x40
        disk.write(path, [data])
        log = opened(disk, had_clean_shutdown=False)
        cut = log.recovery.cut
        assert (cut.file, cut.position, cut.offset, cut.size_bytes) == (path, size, 1, 4 * size)
        assert (cut.batches, cut.records, cut.last_offset) == (3, 3, 4)
        assert disk.read(cut.kept[0]) == data[size:]


def test_a_second_cut_at_the_same_byte_does_not_replace_the_first():
    disk = MemoryDisk()
    log = opened(disk)
    for _ in range(2):
        produce(log, b"value")
        path, data = log.segments.active.path, bytearray(disk.read(log.segments.active.path))
        data[-1] ^= 1
        disk.write(path, [data])
        log = opened(disk, had_clean_shutdown=False)
        assert log.recovery.cut.position == 0
    assert [name for name in disk.list(DIRECTORY) if name.endswith(".cut")] == [
        f"{0:020d}.log.0.1.cut",
        f"{0:020d}.log.0.cut",
    ]


def test_damage_before_the_recovery_point_is_not_looked_for():
    disk = MemoryDisk()
    filled(disk)
    data = bytearray(disk.read(log_file(0)))
    data[100] ^= 1
    disk.write(log_file(0), [data])
    assert opened(disk, recovery_point=30, had_clean_shutdown=False, **CONFIG).log_end_offset == 40


def test_a_last_segment_that_is_damaged_is_recovered_though_the_stop_was_clean():
    disk = MemoryDisk()
    log = filled(disk)
    log.close()
    disk.truncate(log.segments.active.path, log.segments.active.size - 1)
    log = opened(disk, recovery_point=40, **CONFIG)
    assert (log.log_end_offset, log.recovery.scanned_segments, log.recovery_point) == (38, 1, 38)


@pytest.mark.parametrize("kind", ["index", "timeindex"])
@pytest.mark.parametrize("damage", ["missing", "cut", "disorder", "behind the end"])
def test_an_index_that_cannot_be_trusted_is_made_anew(kind, damage):
    disk = MemoryDisk()
    log = filled(disk)
    before = state(log)
    log.close()
    path = log_file(0, kind)
    data = disk.read(path)
    entry = 8 if kind == "index" else 12
    assert len(data) >= 2 * entry
    if damage == "missing":
        disk.remove(path)
    elif damage == "cut":
        disk.truncate(path, len(data) - 3)
    elif damage == "disorder":
        disk.write(path, [data[entry : 2 * entry] + data[:entry]])
    elif kind == "index":
        disk.write(path, [data + b"\0\0\0\7\0\1\0\0"])
    log = opened(disk, recovery_point=40, **CONFIG)
    assert state(log) == before
    for offset in range(40):
        assert log.segments[log.segments.floor(offset)].find(offset).base_offset == offset // 2 * 2


def test_indexes_of_a_broker_that_was_killed_have_zeros_at_their_end():
    disk = MemoryDisk()
    log = filled(disk)
    before = state(log)
    log.close()
    for kind in ("index", "timeindex"):
        disk.append(log_file(0, kind), bytes(8 * 12 * 100))
    log = opened(disk, recovery_point=40, **CONFIG)
    assert state(log) == before


def test_leftovers_of_unfinished_work_are_removed_or_ended():
    disk = MemoryDisk()
    log = filled(disk)
    before = contents(log)
    log.close()
    for name in (
        "00000000000000000000.log.deleted",
        "00000000000000000000.snapshot.deleted",
        "00000000000000000000.timeindex.cleaned",
        "00000000000000000000.log.swap",
        "00000000000000000777.index",
        "leader-epoch-checkpoint.falkirk-aside",
    ):
        disk.write(f"{DIRECTORY}/{name}", [b"x"])
    log = opened(disk, recovery_point=40, **CONFIG)
    assert contents(log) == before
    assert len(log.recovery.removed) == 6
    assert not [name for name in disk.list(DIRECTORY) if "777" in name or not name.startswith(("0", "l", "p"))]


def test_snapshots_where_no_segment_begins_go_but_for_the_newest():
    disk = MemoryDisk()
    log = filled(disk)
    bases = list(log.segments.base_offsets)
    log.close()
    for offset in (1, 3):
        disk.write(log_file(offset, "snapshot"), [disk.read(log_file(40, "snapshot"))])
    opened(disk, recovery_point=40, **CONFIG)
    snapshots = [name for name in disk.list(DIRECTORY) if name.endswith(".snapshot")]
    assert snapshots == [f"{offset:020d}.snapshot" for offset in (*bases[1:], 40)]


def test_a_damaged_snapshot_is_replaced_by_an_older_one_and_the_log_behind_it():
    disk = MemoryDisk()
    log = filled(disk)
    before = state(log)
    last = log.segments.base_offsets[-1]
    log.close()
    for offset in (40, last):
        disk.write(log_file(offset, "snapshot"), [disk.read(log_file(offset, "snapshot"))[:-1] + b"\0"])
    log = opened(disk, recovery_point=40, **CONFIG)
    assert state(log) == before
    assert not disk.exists(log_file(40, "snapshot"))


def test_without_any_snapshot_the_producers_are_read_from_the_log():
    disk = MemoryDisk()
    log = filled(disk)
    before = state(log)
    log.close()
    for name in disk.list(DIRECTORY):
        if name.endswith(".snapshot"):
            disk.remove(f"{DIRECTORY}/{name}")
    assert state(opened(disk, recovery_point=40, **CONFIG)) == before


def test_expired_producers_are_not_loaded():
    disk = MemoryDisk()
    log = filled(disk)
    log.close()
    assert opened(disk, now_ms=NOW + DAY + 19, **CONFIG).active_producers()[0].producer_id == 1
    assert opened(disk, now_ms=NOW + DAY + 20, **CONFIG).active_producers() == []


def test_the_log_starts_where_the_checkpoint_says_or_where_its_first_segment_does():
    disk = MemoryDisk()
    filled(disk).close()
    log = opened(disk, log_start_offset=7, **CONFIG)
    assert (log.log_start_offset, log.high_watermark) == (7, 7)
    assert (log.leader_epochs.entries[0].epoch, log.leader_epochs.entries[0].start_offset) == (0, 7)
    log.update_high_watermark(40)
    log.delete_old_segments(NOW)
    log.config = type(log.config)(retention_bytes=1000, segment_bytes=450)
    assert log.delete_old_segments(NOW) > 0
    start = log.log_start_offset
    log.close()
    assert opened(disk, log_start_offset=7, **CONFIG).log_start_offset == start


def test_a_log_that_ends_before_its_start_begins_anew_there():
    disk = MemoryDisk()
    filled(disk).close()
    log = opened(disk, log_start_offset=100, **CONFIG)
    assert (log.log_start_offset, log.log_end_offset, log.size, log.latest_epoch) == (100, 100, 0, None)
    assert [name for name in disk.list(DIRECTORY) if name.endswith(".log")] == ["00000000000000000100.log"]
    assert log.recovery.cut.records == 40
    assert log.recovery.cut.kept == tuple(f"{DIRECTORY}/{base:020d}.log.0.cut" for base in (30, 20, 10, 0))


def test_epochs_that_begin_behind_the_log_are_forgotten():
    disk = MemoryDisk()
    log = filled(disk)
    log.assign_epoch_start_offset(9, 40)
    log.close()
    assert opened(disk, recovery_point=40, **CONFIG).latest_epoch == 3


def test_what_was_cut_off_does_not_come_back_when_the_power_fails():
    for seed in range(30):
        disk = SimulatedDisk(random.Random(seed))
        log = opened(disk, **CONFIG)
        log.append_as_follower(stored(0, 1) + stored(1, 1) + stored(2, 1) + stored(3, 1))
        log.flush()
        log.truncate_to(2)
        log.append_as_follower(stored(2, 5, 2))
        disk.lose_power()
        log = opened(disk, recovery_point=2, had_clean_shutdown=False, **CONFIG)
        assert log.log_end_offset in (2, 4)
        assert (stored(0, 1) + stored(1, 1) + stored(2, 5, 2)).startswith(contents(log))


def test_what_recovery_cut_off_does_not_come_back_when_the_power_fails():
    for seed in range(10):
        disk = SimulatedDisk(random.Random(seed))
        log = opened(disk, **CONFIG)
        log.append_as_follower(stored(0, 1) + stored(1, 1))
        log.flush()
        disk.append(log.segments.active.path, stored(2, 1)[:-1])
        opened(disk, had_clean_shutdown=False, **CONFIG)
        disk.lose_power()
        assert disk.read(log_file(0)) == stored(0, 1) + stored(1, 1)


def test_a_control_batch_that_is_no_marker_ends_the_log_as_damage_does():
    disk = MemoryDisk()
    log = opened(disk)
    log.append_as_follower(stored(0, 1))
    bad = stored(1, 1, producer_id=3, producer_epoch=0, is_control=True)
    disk.append(log.segments.active.path, bad + marker(2, 1, (3, 0), is_commit=True))
    assert opened(disk, had_clean_shutdown=False).log_end_offset == 1


def test_batches_whose_offsets_fall_end_the_log_as_damage_does():
    disk = MemoryDisk()
    log = opened(disk)
    log.append_as_follower(stored(0, 1, 5))
    disk.append(log.segments.active.path, stored(3, 1))
    assert opened(disk, had_clean_shutdown=False).log_end_offset == 5


def test_a_segment_that_rolled_unsynced_is_found_again_whole():
    disk = MemoryDisk()
    log = opened(disk, **CONFIG)
    for at in range(12):
        log.append_as_leader(produced([b"x" * 200]), at // 6, NOW, origin=AppendOrigin.CLIENT)
    before = state(log)
    assert len(log.segments) == 12
    log = opened(disk, had_clean_shutdown=False, **CONFIG)
    assert state(log) == before
    assert log.recovery.scanned_segments == 12


def test_a_crash_at_any_change_of_a_cut_leaves_the_logs_beginning():
    ends = set()
    for changes in range(1, 60):
        disk = SimulatedDisk(random.Random(changes))
        log = filled(disk)
        whole, size = contents(log), log.size
        disk.changes_until_crash = changes
        try:
            log.truncate_to(4)
        except SimulatedCrashError:
            disk.changes_until_crash = None
            log = opened(disk, had_clean_shutdown=False, recovery_point=40, **CONFIG)
            assert whole.startswith(contents(log))
            assert log.log_end_offset >= 4
            ends.add(log.log_end_offset)
            continue
        assert log.size < size
        break
    assert {4, 40} < ends


def test_a_finished_replacement_takes_the_aborted_transactions_of_the_old_segment_with_it():
    disk = MemoryDisk()
    log = opened(disk, segment_bytes=200)
    begun = stored(0, 0, producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    log.append_as_follower(begun + marker(1, 0, (1, 0), is_commit=False))
    log.append_as_follower(stored(2, 0))
    log.close()
    assert disk.exists(log_file(0, "txnindex"))
    disk.write(f"{log_file(0)}.swap", [marker(1, 0, (1, 0), is_commit=False)])
    log = opened(disk, recovery_point=3, segment_bytes=200)
    assert (list(log.segments[0].aborted), disk.exists(log_file(0, "txnindex"))) == ([], False)
    assert contents(log) == marker(1, 0, (1, 0), is_commit=False) + stored(2, 0)
