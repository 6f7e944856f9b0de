"""Snapshots that come into being piece by piece, and what a crash leaves of them."""

from functools import partial
from itertools import pairwise

import pytest
from kraft_batches import data_batch, files_of, leader_change

from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.storage import snapshot_creation
from falkirk.storage.memory_disk import MemoryDisk
from falkirk.storage.metadata_log import MetadataLog, MetadataLogSettings
from falkirk.storage.snapshot_writer import write_snapshot

DIRECTORY = "/d0/__cluster_metadata-0"
SNAPSHOT = OffsetAndEpoch(2, 1)
FILE = f"{DIRECTORY}/00000000000000000002-0000000001.checkpoint"
PARTIAL = f"{DIRECTORY}/00000000000000000002-0000000001-1.checkpoint.part"
VALUES = [bytes([index]) * 40 for index in range(60)]
PIECE_BYTES = 500
BATCHES = list(write_snapshot(VALUES, epoch=1, last_contained_log_timestamp=500, clock=lambda: 77))
WHOLE = b"".join(BATCHES)
PIECES = sum(-(-len(batch) // PIECE_BYTES) for batch in BATCHES)


class CrashError(Exception):
    """The host is gone."""


class CrashingDisk(MemoryDisk):
    """Counts what an append, a rename or a removal changes; at `crash_at` a part of an append at most is done."""

    def __init__(self):
        super().__init__()
        self.changes = 0
        self.crash_at = None

    def append(self, path, data):
        self._change(lambda: MemoryDisk.append(self, path, bytes(data)[: len(data) // 2]))
        super().append(path, data)

    def rename(self, source, target):
        self._change(lambda: None)
        super().rename(source, target)

    def remove(self, path):
        self._change(lambda: None)
        super().remove(path)

    def _change(self, torn):
        self.changes += 1
        if self.crash_at == self.changes:
            torn()
            raise CrashError


def a_log(disk):
    log = MetadataLog(disk, "/d0", MetadataLogSettings(snapshot_piece_bytes=PIECE_BYTES))
    if log.end_offset == 0:
        log.append(leader_change(0, 1))
        log.append(data_batch(1, 1))
        log.append(data_batch(2, 1))
    return log


begin = partial(
    MetadataLog.begin_snapshot,
    snapshot=SNAPSHOT,
    values=VALUES,
    level=0,
    kraft_version=0,
    voters=None,
    last_contained_log_timestamp=500,
    clock=lambda: 77,
)


def finish(creation):
    while not creation.step():
        pass


def test_no_step_writes_more_than_a_piece_and_the_file_has_its_name_when_it_is_whole():
    disk = MemoryDisk()
    log = a_log(disk)
    creation = begin(log)

    sizes = []
    while not creation.step():
        sizes.append(disk.size(PARTIAL))
        assert log.latest_snapshot is None
        assert not disk.exists(FILE)

    assert len(sizes) == PIECES - 1
    assert all(after - before <= PIECE_BYTES for before, after in pairwise([0, *sizes, len(WHOLE)]))
    assert disk.read(FILE) == WHOLE
    assert not disk.exists(PARTIAL)
    assert (log.latest_snapshot, creation.records) == (SNAPSHOT, len(VALUES))


def test_values_are_taken_a_bounded_number_at_a_time(monkeypatch):
    monkeypatch.setattr(snapshot_creation, "VALUES_PER_STEP", 7)
    disk = MemoryDisk()
    log = a_log(disk)
    taken = []
    creation = begin(log, values=(taken.append(value) or value for value in VALUES))

    counts = []
    while not creation.step():
        counts.append(len(taken))

    assert counts[:8] == [7, 14, 21, 28, 35, 42, 49, 56]
    assert disk.read(FILE) == WHOLE


@pytest.mark.parametrize("change", range(1, PIECES + 2))
def test_a_crash_at_any_piece_leaves_no_snapshot_and_the_next_start_removes_what_was_written(change):
    disk = CrashingDisk()
    creation = begin(a_log(disk))
    before = files_of(disk, DIRECTORY)
    disk.changes, disk.crash_at = 0, change

    with pytest.raises(CrashError):
        finish(creation)

    disk.crash_at = None
    assert disk.exists(PARTIAL)
    opened = a_log(disk)
    assert (opened.recovery.removed, opened.latest_snapshot) == ((PARTIAL,), None)
    assert files_of(disk, DIRECTORY) == before
    finish(begin(opened))
    assert disk.read(FILE) == WHOLE
    # The last change is the file's name.
    assert disk.changes == change + 1 + PIECES + 1


@pytest.mark.parametrize("steps", range(PIECES))
def test_a_snapshot_that_is_abandoned_leaves_nothing(steps):
    disk = MemoryDisk()
    log = a_log(disk)
    before = files_of(disk, DIRECTORY)
    creation = begin(log)
    for _ in range(steps):
        assert not creation.step()

    creation.abandon()

    assert files_of(disk, DIRECTORY) == before
    assert log.latest_snapshot is None


def test_a_snapshot_may_be_fetched_while_one_is_made():
    disk = MemoryDisk()
    log = a_log(disk)
    creation = begin(log)
    creation.step()
    fetched = b"".join(write_snapshot([b"v"], epoch=3, last_contained_log_timestamp=500, clock=lambda: 77))

    log.write_snapshot_chunk(SNAPSHOT, 0, fetched)
    log.write_snapshot_chunk(OffsetAndEpoch(9, 3), 0, fetched)
    log.install_snapshot(OffsetAndEpoch(9, 3))
    creation.abandon()

    assert log.latest_snapshot == OffsetAndEpoch(9, 3)
    assert [name for name in disk.list(DIRECTORY) if "checkpoint.part" in name] == []
