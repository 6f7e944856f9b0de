"""A metadata log whose syncs are left for later: the leader sends what it has written before it syncs."""

import errno
import random

import pytest
from kraft_batches import data_batch
from slow_disk import SlowDisk

from falkirk.simulation.machine.disk import SimulatedDisk
from falkirk.storage.metadata_log import MetadataLog, MetadataLogSettings


def opened(disk) -> MetadataLog:
    return MetadataLog(disk, "/d0", MetadataLogSettings())


def with_two_batches(disk) -> MetadataLog:
    log = opened(disk)
    log.append(data_batch(0, 1))
    log.append(data_batch(1, 1), is_synced=False)
    return log


def test_what_is_written_is_read_at_once_and_synced_once():
    disk = SlowDisk(1)
    log = opened(disk)
    log.append(data_batch(0, 1))
    before = disk.syncs
    log.append(data_batch(1, 1), is_synced=False)
    log.append(data_batch(2, 1), is_synced=False)
    assert (disk.syncs - before, log.end_offset) == (0, 3)
    assert log.read(1, 1 << 20) == data_batch(1, 1) + data_batch(2, 1)
    log.sync()
    log.sync()
    assert disk.syncs - before == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda log: log.append(data_batch(2, 1)),
        lambda log: log.append(data_batch(2, 2), is_synced=False),
        lambda log: log.truncate(1),
        lambda log: log.sync(),
    ],
)
def test_after_a_power_loss_the_log_is_what_the_next_change_left(change):
    chances = random.Random(1)
    for _ in range(20):
        disk = SimulatedDisk(chances)
        log = with_two_batches(disk)
        change(log)
        disk.lose_power()
        assert opened(disk).end_offset == log.end_offset


def test_a_power_loss_before_the_sync_leaves_a_prefix():
    ends = set()
    for seed in range(50):
        disk = SimulatedDisk(random.Random(seed))
        with_two_batches(disk)
        disk.lose_power()
        log = opened(disk)
        assert log.read(0, 1 << 20) == b"".join((data_batch(0, 1), data_batch(1, 1))[: log.end_offset])
        ends.add(log.end_offset)
    assert ends == {1, 2}


def test_a_new_segment_has_its_name_before_anything_of_it_is_sent():
    disk = SimulatedDisk(random.Random(1))
    log = opened(disk)
    log.append(data_batch(0, 1), is_synced=False)
    log.sync()
    disk.lose_power()
    assert opened(disk).end_offset == 1


def test_after_a_sync_that_fails_the_log_takes_no_more(monkeypatch):
    disk = SimulatedDisk(random.Random(1))
    log = with_two_batches(disk)
    disk.error = errno.EIO
    with pytest.raises(OSError, match="error"):
        log.sync()
    disk.error = None
    with pytest.raises(OSError, match="error"):
        log.append(data_batch(2, 1))
